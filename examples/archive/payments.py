"""Payments of a day, whose bytes mean nothing to the archive."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from examples.stage import Record

DAY = datetime(2026, 11, 15, tzinfo=UTC)
PARTITIONS = 2


def payments(seed: int = 1, *, count: int = 400) -> list[Record]:
    """In the order of their times; the values are opaque bytes."""
    chance = random.Random(seed)
    times = sorted(chance.randrange(86_400_000) for _ in range(count))
    return [
        Record(
            key=f"account-{chance.randrange(50)}",
            value=chance.randbytes(24),
            partition=chance.randrange(PARTITIONS),
            timestamp_ms=ms_of(DAY) + ms,
        )
        for ms in times
    ]


def ms_of(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def in_period(payments: Iterable[Record], begin: datetime, end: datetime) -> list[Record]:
    """As they come back: with the place that they had when they were sent as headers."""
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    found = []
    for payment in payments:
        assert payment.partition is not None
        assert payment.timestamp_ms is not None
        offset = offsets[payment.partition]
        offsets[payment.partition] += 1
        if ms_of(begin) <= payment.timestamp_ms < ms_of(end):
            headers = (
                ("first.partition", b"%d" % payment.partition),
                ("first.offset", b"%d" % offset),
            )
            found.append(Record(payment.key, payment.value, headers))
    return found


BEGIN = DAY + timedelta(hours=9)
END = DAY + timedelta(hours=12)
