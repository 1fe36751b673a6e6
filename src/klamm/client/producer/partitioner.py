"""Which partition a record goes to. The same key goes where Java's producer sends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol


class Question(NamedTuple):
    """What a partitioner may look at. `available` are the partitions that have a leader, never none of them."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition_count: int
    available: tuple[int, ...]
    size: int


class Partitioner(Protocol):
    def __call__(self, question: Question, /) -> int: ...


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's clients, unsigned."""
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    length = len(data)
    h = 0x9747B28C ^ length
    for at in range(0, length - 3, 4):
        k = int.from_bytes(data[at : at + 4], "little") * multiplier & mask
        k = (k ^ k >> 24) * multiplier & mask
        h = h * multiplier & mask ^ k
    rest = length & 3
    if rest:
        h = (h ^ int.from_bytes(data[length - rest :], "little")) * multiplier & mask
    h = (h ^ h >> 13) * multiplier & mask
    return h ^ h >> 15


def partition_for_key(key: bytes, count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % count


@dataclass(slots=True)
class _Stay:
    partition: int
    bytes_left: int


@dataclass(slots=True)
class StickyPartitioner:
    """By key; without one, stays with a partition for a batch's worth of bytes and then moves on (KIP-794)."""

    rng: Random
    batch_bytes: int
    _stays: dict[str, _Stay] = field(default_factory=dict)

    def __call__(self, question: Question, /) -> int:
        if question.key is not None:
            return partition_for_key(question.key, question.partition_count)
        stay = self._stays.get(question.topic)
        if stay is None or stay.bytes_left <= 0 or stay.partition not in question.available:
            stay = _Stay(self._other(question, stay), self.batch_bytes)
            self._stays[question.topic] = stay
        stay.bytes_left -= question.size
        return stay.partition

    def _other(self, question: Question, last: _Stay | None) -> int:
        """Any but the last one, where there is a choice."""
        choices = [p for p in question.available if last is None or p != last.partition]
        return self.rng.choice(choices or question.available)


@dataclass(slots=True)
class RoundRobinPartitioner:
    """One after the other, whatever the key."""

    _turns: dict[str, int] = field(default_factory=dict)

    def __call__(self, question: Question, /) -> int:
        turn = self._turns.get(question.topic, 0)
        self._turns[question.topic] = turn + 1
        return question.available[turn % len(question.available)]
