"""Where to begin and end reading: the `-o` notation of kcat and rpk, and what it means for each partition.

beginning | start     the first record there is          @1700000000000     the first record at or after that time
end                   only what comes from now on        @2024-05-01T10:00  the same, as a date (UTC unless it says)
42                    that offset                        @-1h               the same, an hour (s, m, h, d) ago
-5                    the last five of each partition    A:B                from A up to, but not including, B
+5                    five after the first               :B                 from the beginning up to B
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.ids import TopicPartition
from klamm.cli.connect import ANSWER_TIMEOUT_S, answer
from klamm.cli.output import UsageError, notice

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Whatever has no more digits fits into the 64 bits of an offset or a time.
_NUMBER = r"\d{1,18}"
# Ten digits are seconds until the year 2286; anything longer is already in milliseconds.
_MAX_SECONDS = 9_999_999_999


class Kind(Enum):
    BEGINNING = auto()
    END = auto()
    OFFSET = auto()
    BEFORE_END = auto()
    AFTER_BEGINNING = auto()
    TIMESTAMP = auto()


class Position(NamedTuple):
    kind: Kind
    value: int = 0


class Range(NamedTuple):
    start: Position
    end: Position | None


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets to read of one partition; an `end` of None means: follow."""

    start: int
    end: int | None

    @property
    def is_empty(self) -> bool:
        return self.end is not None and self.start >= self.end


# On the wire Kafka writes the two ends of a log as times that cannot be.
_SPECIAL_TIMES = {Kind.BEGINNING: -2, Kind.END: -1}
BEGINNING = Position(Kind.BEGINNING)
END = Position(Kind.END)


def parse_range(text: str, *, now_ms: int) -> Range:
    position = _parse_position(text, now_ms)
    if position is not None:
        return Range(position, None)
    # A date holds colons of its own, so the separator is the first colon that leaves sense on both sides.
    for colon in (match.start() for match in re.finditer(":", text)):
        start = _parse_position(text[:colon], now_ms) if colon else BEGINNING
        end = _parse_position(text[colon + 1 :], now_ms) if text[colon + 1 :] else END
        if start is not None and end is not None:
            return Range(start, end)
    raise UsageError(
        f"{text!r} is not an offset",
        hint="beginning, end, 42, -5, +5, @1700000000000, @-1h, or START:END",
    )


def _parse_position(text: str, now_ms: int) -> Position | None:
    if text in ("beginning", "start"):
        return BEGINNING
    if text == "end":
        return END
    if text.startswith("@"):
        timestamp = _parse_time(text[1:], now_ms)
        return None if timestamp is None else Position(Kind.TIMESTAMP, timestamp)
    if not re.fullmatch(rf"[+-]?{_NUMBER}", text, re.ASCII):
        return None
    kind = {"-": Kind.BEFORE_END, "+": Kind.AFTER_BEGINNING}.get(text[0], Kind.OFFSET)
    return Position(kind, int(text.lstrip("+-")))


def _parse_time(text: str, now_ms: int) -> int | None:
    if re.fullmatch(_NUMBER, text, re.ASCII):
        number = int(text)
        return number * 1000 if number <= _MAX_SECONDS else number
    if ago := re.fullmatch(rf"-({_NUMBER})([smhd])", text, re.ASCII):
        return max(0, now_ms - int(ago[1]) * _SECONDS[ago[2]] * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Below zero a time would be one of Kafka's special ones, and no record is older than that anyway.
    utc = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, int(utc.timestamp() * 1000))


def resolve(
    admin: AdminClient,
    partitions: Iterable[TopicPartition],
    wanted: Range,
    *,
    committed: bool,
    stop_at_end: bool,
) -> dict[TopicPartition, Span]:
    """Positions to numbers, with one question to the cluster per kind of position and not per partition."""
    places = list(partitions)
    asked = {
        position: ask(admin, places, position, committed=committed)
        for position in {BEGINNING, END, wanted.start, wanted.end}
        if position is not None and position.kind in (Kind.BEGINNING, Kind.END, Kind.TIMESTAMP)
    }
    return {
        place: _span(
            place,
            wanted,
            {position: found[place] for position, found in asked.items()},
            stop_at_end,
        )
        for place in places
    }


def _span(
    place: TopicPartition, wanted: Range, known: Mapping[Position, int], stop_at_end: bool
) -> Span:
    first, last = known[BEGINNING], known[END]
    start = _number(wanted.start, known)
    if not first <= start <= last:
        nearest = min(max(start, first), last)
        notice(
            f"{place} holds offsets {first} to {last}: reading from {nearest} instead of {start}"
        )
        start = nearest
    end = None if wanted.end is None else _number(wanted.end, known)
    if stop_at_end:
        end = last if end is None else min(end, last)
    return Span(start, end)


def _number(position: Position, known: Mapping[Position, int]) -> int:
    first, last = known[BEGINNING], known[END]
    match position.kind:
        case Kind.OFFSET:
            return position.value
        case Kind.BEFORE_END:
            return max(first, last - position.value)
        case Kind.AFTER_BEGINNING:
            return min(last, first + position.value)
        case _:
            # No record is as late as the time asked for: -1, which for a reader is the end.
            return known[position] if known[position] >= 0 else last


def ask(
    admin: AdminClient,
    partitions: Iterable[TopicPartition],
    position: Position,
    *,
    committed: bool = False,
) -> dict[TopicPartition, int]:
    """What the leaders say about a beginning, an end or a time."""
    from confluent_kafka import IsolationLevel
    from confluent_kafka import TopicPartition as ClientPartition
    from confluent_kafka.admin import OffsetSpec

    spec = OffsetSpec.for_timestamp(_SPECIAL_TIMES.get(position.kind, position.value))
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    futures = admin.list_offsets(
        {ClientPartition(topic, partition): spec for topic, partition in partitions},
        isolation_level=level,
        request_timeout=ANSWER_TIMEOUT_S,
    )
    return {
        TopicPartition(place.topic, place.partition): answer(
            future, f"the offsets of {place.topic}-{place.partition} are not known"
        ).offset
        for place, future in futures.items()
    }
