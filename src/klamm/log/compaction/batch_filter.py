"""What stays of a batch. Pure: it sees one batch after the other, from the log's beginning on, and rewrites it.

A record stays if no later one has its key, and a tombstone only until its delete horizon. Aborted data goes at once; a
marker goes after a horizon of its own, once no data of its transaction is left. A batch of which nothing stays goes
too, unless it tells what nothing else would: the last sequence of a living producer, or where the cleaned part ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from klamm.log.compaction.offset_map import OffsetMap
from klamm.log.compaction.transactions import Transactions
from klamm.protocol.records.batch import BatchHeader, BytesLike
from klamm.protocol.records.reader import MAX_DECOMPRESSED_SIZE, open_batch
from klamm.protocol.records.rewriting import RawRecord, emptied, raw_records, without_others


class LastBatch(NamedTuple):
    """What a living producer wrote last."""

    # None: only a marker in this epoch.
    offset: int | None
    epoch: int


class BatchFilter:
    def __init__(
        self,
        offsets: OffsetMap,
        transactions: Transactions,
        last_batches: Mapping[int, LastBatch],
        *,
        end_offset: int,
        now: int,
        delete_retention_ms: int,
    ) -> None:
        """end_offset: where the part of the log ends that may be cleaned."""
        self._offsets = offsets
        self._transactions = transactions
        self._last_batches = last_batches
        self._end_offset = end_offset
        self._now = now
        self._new_horizon = now + delete_retention_ms

    def apply(self, header: BatchHeader, batch: BytesLike) -> BytesLike | None:
        """The batch itself if all of it stays, a smaller one, or None if it goes."""
        if header.is_control:
            rest = self._rest_of_marker(header, batch)
        elif self._transactions.is_aborted(header):
            rest = None
        else:
            rest = self._rest_of_data(header, batch)
        if rest is None and self._must_stay(header):
            return emptied(header)
        return rest

    def _rest_of_marker(self, header: BatchHeader, batch: BytesLike) -> BytesLike | None:
        if not self._transactions.is_over(header, batch):
            return batch
        horizon = header.delete_horizon
        if not header.count or (horizon is not None and horizon <= self._now):
            return None
        if horizon is not None:
            return batch
        _, payload = open_batch(batch, max_size=MAX_DECOMPRESSED_SIZE)
        kept = list(raw_records(header, payload))
        return without_others(header, payload, kept, delete_horizon=self._new_horizon)

    def _rest_of_data(self, header: BatchHeader, batch: BytesLike) -> BytesLike | None:
        _, payload = open_batch(batch, max_size=MAX_DECOMPRESSED_SIZE)
        kept = self._kept(header, payload)
        if not kept:
            return None
        horizon = None
        if header.delete_horizon is None and any(record.is_tombstone for record in kept):
            horizon = self._new_horizon
        if len(kept) == header.count and horizon is None:
            return batch
        return without_others(header, payload, kept, delete_horizon=horizon)

    def _kept(self, header: BatchHeader, payload: bytes) -> Sequence[RawRecord]:
        horizon = header.delete_horizon
        are_tombstones_due = horizon is not None and horizon <= self._now
        latest, last_of = self._offsets.latest_offset, self._offsets.get
        return [
            record
            for record in raw_records(header, payload)
            if record.offset > latest
            or (
                record.key is not None
                and not (are_tombstones_due and record.is_tombstone)
                and record.offset >= last_of(record.key)
            )
        ]

    def _must_stay(self, header: BatchHeader) -> bool:
        if header.last_offset + 1 == self._end_offset:
            return True
        last = self._last_batches.get(header.producer_id)
        if last is None or header.producer_id < 0:
            return False
        if last.offset is None:
            return header.is_control and header.producer_epoch == last.epoch
        return header.last_offset == last.offset
