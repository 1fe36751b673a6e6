"""Records on their way to one partition, and whom to tell how it went."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.protocol.records.batch import (
    HEADER_SIZE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Codec,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Header, Record

# Length, attributes, deltas and the lengths of key, value and headers at their longest.
_RECORD_OVERHEAD = 36
_HEADER_OVERHEAD = 10


class ProducerId(NamedTuple):
    """Who writes. An idempotent producer without transactions raises its epoch by itself."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_known(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


NOBODY = ProducerId()


class Delivered(NamedTuple):
    """Where a record was written. The offset is None with acks=0, and where the broker had it from an earlier try."""

    topic: str
    partition: int
    offset: int | None
    timestamp: int


Delivery: TypeAlias = asyncio.Future[Delivered]


@dataclass(slots=True)
class Batch:
    """Times are those of the event loop, in seconds."""

    partition: TopicPartition
    created_at: float
    records: list[Record] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    size: int = HEADER_SIZE
    attempts: int = 0
    retry_at: float = 0.0
    producer: ProducerId = NOBODY
    base_sequence: int = NO_SEQUENCE
    # A part of a batch that was too large goes on its own.
    is_closed: bool = False

    @property
    def count(self) -> int:
        return len(self.records)

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    def add(self, record: Record, size: int, delivery: Delivery) -> None:
        self.records.append(record)
        self.deliveries.append(delivery)
        self.size += size

    def encode(self, codec: Codec, level: int | None, *, is_transactional: bool) -> bytearray:
        return build_batch(
            self.records,
            codec=codec,
            level=level,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            base_sequence=self.base_sequence,
            transactional=is_transactional,
        )

    def succeed(self, base_offset: int | None, append_time: int | None) -> None:
        for index, (record, delivery) in enumerate(zip(self.records, self.deliveries, strict=True)):
            if not delivery.done():
                offset = None if base_offset is None else base_offset + index
                timestamp = record.timestamp if append_time is None else append_time
                delivery.set_result(Delivered(*self.partition, offset, timestamp))

    def fail(self, error: ApiError) -> None:
        for delivery in self.deliveries:
            if not delivery.done():
                delivery.set_exception(error)

    def hush(self) -> None:
        """Somebody else is told of the failure: asyncio need not complain that nobody asked these."""
        for delivery in self.deliveries:
            if delivery.done() and not delivery.cancelled():
                delivery.exception()

    def split(self) -> tuple[Batch, Batch]:
        """Two halves that take the same sequences together."""
        middle = self.count // 2
        return self._part(0, middle), self._part(middle, self.count)

    def _part(self, start: int, end: int) -> Batch:
        part = Batch(self.partition, self.created_at, attempts=self.attempts, is_closed=True)
        part.producer = self.producer
        if self.has_sequence:
            part.base_sequence = next_sequence(self.base_sequence, start)
        for record, delivery in zip(
            self.records[start:end], self.deliveries[start:end], strict=True
        ):
            part.add(record, record_size(record.key, record.value, record.headers), delivery)
        return part


def record_size(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """What a record takes at most, before compression."""
    size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, header_value in headers:
        size += _HEADER_OVERHEAD + len(name) * 4 + len(header_value or b"")
    return size


def next_sequence(sequence: int, count: int) -> int:
    """Sequences wrap from 2**31 - 1 to 0."""
    return (sequence + count) & 0x7FFFFFFF
