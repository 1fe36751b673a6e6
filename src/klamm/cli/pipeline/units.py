"""Numbers and times as people read them: in the live view, in lines and in tables."""

from __future__ import annotations

from datetime import UTC, datetime

UNKNOWN = "-"


def amount(number: float | None) -> str:
    """1234567 is 1.23M: three digits that matter."""
    if number is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            # 12.3k and not 0.012M, but from 10,000 on: four digits are read at once.
            scaled = number / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 999.5 else f"{scaled:.0f}{letter}"
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def rate(per_second: float | None) -> str:
    return UNKNOWN if per_second is None else f"{amount(per_second)}/s"


def took(milliseconds: int | None) -> str:
    if milliseconds is None:
        return UNKNOWN
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def size(byte_count: int) -> str:
    for unit, letter in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if byte_count >= unit:
            return f"{byte_count / unit:.1f} {letter}"
    return f"{byte_count} B"


def moment(timestamp_ms: int | None) -> str | None:
    """UTC, as everywhere in a pipeline."""
    if timestamp_ms is None:
        return None
    when = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(timestamp_ms: int | None) -> str:
    return UNKNOWN if timestamp_ms is None else f"{moment(timestamp_ms) or ''}"[11:19]


def age(milliseconds: int) -> str:
    """How long something runs: the two largest units."""
    seconds = max(0, milliseconds) // 1000
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
