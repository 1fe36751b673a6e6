"""What a test expects of a topic, and waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from klamm.testing.kit.records import Record, Wanted, matches, shown

if TYPE_CHECKING:
    from klamm.testing.kit.kafka import Kafka

_SECONDS = 5.0
_SHOWN = 20

# Why not yet; None when it holds.
Verdict = Callable[[list[Record]], str | None]


class Expectation:
    """`broker.expect("orders").within(5).contains("a", {"id": 1})`; an AssertionError tells what was there instead."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._seconds = _SECONDS

    def within(self, seconds: float) -> Self:
        """How long to wait for it; 5 seconds unless told."""
        self._seconds = seconds
        return self

    def contains(self, *wanted: Wanted) -> list[Record]:
        """Each of these is in the topic, each a record of its own. Gives the records found, in the order asked for."""
        found: list[Record] = []

        def verdict(records: list[Record]) -> str | None:
            nonlocal found
            found, missing = _pick(records, wanted)
            return f"has no {', '.join(map(shown, missing))}" if missing else None

        self._wait(verdict)
        return found

    def equals(self, *wanted: Wanted) -> list[Record]:
        """These and no others; those of one partition in this order."""

        def verdict(records: list[Record]) -> str | None:
            if len(records) == len(wanted) and not _pick(records, wanted)[1]:
                if len({each.partition for each in records}) > 1 or all(
                    map(matches, records, wanted)
                ):
                    return None
                return f"has them in another order than {', '.join(map(shown, wanted))}"
            return f"is not {', '.join(map(shown, wanted)) or 'empty'}"

        return self._wait(verdict)

    def count(self, count: int) -> list[Record]:
        """As many records."""
        return self._wait(
            lambda records: None if len(records) == count else f"should have {count} records"
        )

    def stays_without(self, *wanted: Wanted) -> None:
        """None of these comes in all that time; without any, nothing at all."""
        unwanted: tuple[Wanted, ...] = wanted or (lambda _: True,)
        try:
            self._wait(
                lambda records: (
                    None if any(matches(r, w) for r in records for w in unwanted) else "waits"
                )
            )
        except AssertionError:
            return
        raise AssertionError(
            f"{self._topic} has what it should not: {', '.join(map(shown, wanted))}"
        )

    def _wait(self, verdict: Verdict) -> list[Record]:
        deadline = time.monotonic() + self._seconds
        with self._kafka.reader(self._topic) as reader:
            while True:
                problem = verdict(reader.records)
                if problem is None:
                    return reader.records
                left = deadline - time.monotonic()
                if left <= 0 and reader.is_at_end:
                    raise AssertionError(self._told(problem, reader.records))
                reader.read_more(max(left, 0.0))

    def _told(self, problem: str, records: Sequence[Record]) -> str:
        lines = [
            f"{self._topic} {problem}, after {self._seconds:g} s; it has {len(records)} records"
        ]
        lines += [f"    {record}" for record in records[:_SHOWN]]
        if len(records) > _SHOWN:
            lines.append(f"    and {len(records) - _SHOWN} more")
        return "\n".join(lines)


class AsyncExpectation:
    """The same, awaited: the caller's loop goes on meanwhile."""

    def __init__(self, expectation: Expectation) -> None:
        self._expectation = expectation

    def within(self, seconds: float) -> Self:
        self._expectation.within(seconds)
        return self

    async def contains(self, *wanted: Wanted) -> list[Record]:
        return await asyncio.to_thread(self._expectation.contains, *wanted)

    async def equals(self, *wanted: Wanted) -> list[Record]:
        return await asyncio.to_thread(self._expectation.equals, *wanted)

    async def count(self, count: int) -> list[Record]:
        return await asyncio.to_thread(self._expectation.count, count)

    async def stays_without(self, *wanted: Wanted) -> None:
        await asyncio.to_thread(self._expectation.stays_without, *wanted)


def _pick(records: Sequence[Record], wanted: Sequence[Wanted]) -> tuple[list[Record], list[Wanted]]:
    """A record for each that is wanted, and what none was found for."""
    left, found, missing = list(records), [], []
    for each in wanted:
        record = next((record for record in left if matches(record, each)), None)
        if record is None:
            missing.append(each)
        else:
            left.remove(record)
            found.append(record)
    return found, missing
