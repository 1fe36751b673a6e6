"""The partition that a shard's records live in: written in batches, read once when the shard is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.shard import Producer
from klamm.protocol.records.batch import Codec, batches
from klamm.protocol.records.builder import build_batch, build_single
from klamm.protocol.records.control import read_end_marker
from klamm.protocol.records.reader import Record, read_records
from klamm.replication.partition import ACKS_ALL, Partition

# What a batch takes besides its records, and a record at most besides its key and value: the bounds that Kafka counts with.
_BATCH_OVERHEAD = 61
_RECORD_OVERHEAD = 21


class End(NamedTuple):
    """A transaction's marker."""

    producer: Producer
    is_commit: bool


class Replayed(NamedTuple):
    record: CoordinatorRecord
    offset: int
    producer: Producer | None


class PartitionLog:
    """Implements coordinator.runtime.PartitionWriter."""

    __slots__ = ("_appended", "_codec", "_fitting", "_framing", "partition")

    def __init__(
        self,
        partition: Partition,
        framing: Framing,
        codec: Codec,
        appended: Callable[[Partition], None],
    ) -> None:
        self.partition = partition
        self._framing = framing
        self._codec = codec
        self._appended = appended
        # What was asked about last and fits, and its bytes: mostly it comes to be written next.
        self._fitting: tuple[Sequence[CoordinatorRecord], list[tuple[bytes, bytes | None]]] = [], []

    @property
    def high_watermark(self) -> int:
        return self.partition.high_watermark

    @property
    def end_offset(self) -> int:
        return self.partition.log.end_offset

    @property
    def commits_at_once(self) -> bool:
        return self.partition.replica_count == 1

    @property
    def is_open(self) -> bool:
        partition = self.partition
        return len(partition.isr) >= partition.settings.min_insync_replicas or partition.has_min_isr

    def fits(self, records: Sequence[CoordinatorRecord]) -> bool:
        try:
            self._fitting = records, self._encode(records)
        except ApiError:
            return False
        return True

    def append(
        self, records: Sequence[CoordinatorRecord], producer: Producer | None, now: Ms
    ) -> int:
        first = self.end_offset
        asked, encoded = self._fitting
        # A list may have grown since.
        if asked is not records or len(encoded) != len(records):
            encoded = self._encode(records)
        if len(encoded) == 1 and producer is None and self._codec is Codec.NONE:
            batch = build_single(*encoded[0], now)
        else:
            batch = self._build(encoded, producer, now)
        # Deviation: with flush.messages Kafka syncs what its coordinators write, too, before they answer.
        self.partition.append_own(batch, acks=ACKS_ALL, now=now)
        self._appended(self.partition)
        return first

    def _encode(self, records: Sequence[CoordinatorRecord]) -> list[tuple[bytes, bytes | None]]:
        """What was decided together is written in one batch, all or nothing; so it must fit in one."""
        room = self.partition.settings.max_message_bytes - _BATCH_OVERHEAD
        encoded = []
        for record in records:
            try:
                key, value = self._framing.encode(record)
            except ValueError as e:
                # Requests have room for longer names than records.
                raise ApiError(ErrorCode.RECORD_LIST_TOO_LARGE, str(e)) from None
            room -= _RECORD_OVERHEAD + len(key) + len(value or b"")
            if room < 0:
                raise ApiError(ErrorCode.RECORD_LIST_TOO_LARGE)
            encoded.append((key, value))
        return encoded

    def _build(
        self, encoded: list[tuple[bytes, bytes | None]], producer: Producer | None, now: Ms
    ) -> bytearray:
        records = [Record(timestamp=now, key=key, value=value) for key, value in encoded]
        # Sequence 0 every time, as Kafka's coordinators do: nobody checks it.
        if producer is None:
            return build_batch(records, codec=self._codec, base_sequence=0)
        return build_batch(
            records,
            codec=self._codec,
            base_sequence=0,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            transactional=True,
        )

    def replay(self, read_at_once: int) -> Iterator[Replayed | End | None]:
        """Everything up to the end, in order; None where others may be served in between.

        Also what is not committed yet: it will be, or this broker leads no longer. A new leader learns how far its log is
        committed only when its followers fetch, and what clients were told stands above.
        """
        log = self.partition.log
        offset = log.start_offset
        while offset < log.end_offset:
            found = log.read(offset, read_at_once, up_to=log.end_offset)
            if found is None:
                return
            data = memoryview(found.read())
            for header, batch in batches(data, partial_end=True):
                producer = None
                if header.is_transactional:
                    producer = Producer(header.producer_id, header.producer_epoch)
                if header.is_control:
                    marker = read_end_marker(batch)
                    if producer is not None and marker is not None:
                        yield End(producer, marker.is_commit)
                else:
                    yield from self._records(batch, producer)
                offset = header.last_offset + 1
                yield None

    def _records(self, batch: memoryview, producer: Producer | None) -> Iterator[Replayed]:
        for record in read_records(batch):
            if record.key is None:
                continue
            known = self._framing.decode(record.key, record.value)
            if known is not None:
                yield Replayed(known, record.offset, producer)
