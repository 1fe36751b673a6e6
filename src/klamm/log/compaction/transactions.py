"""Transactions as a walk over the log meets them: which data was aborted, and which markers still have data.

Knows headers and the entries of the transaction index. One walk from the log's beginning per object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.state.replay import read_marker
from klamm.protocol.records.batch import BatchHeader, BytesLike


class Transactions:
    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # Per producer, the aborted transactions that lie ahead, in order: it has one open at a time.
        self._aborted: dict[int, deque[AbortedTransaction]] = {}
        for entry in sorted(set(aborted), key=lambda entry: entry.first_offset):
            self._aborted.setdefault(entry.producer_id, deque()).append(entry)
        # Producers of which data was met since their last marker.
        self._with_data: set[int] = set()
        self._indexed: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Meet a data batch. Was its transaction aborted?"""
        if not header.is_transactional:
            return False
        self._with_data.add(header.producer_id)
        entry = self._entry_at(header.producer_id, header.base_offset)
        return entry is not None and entry.first_offset <= header.base_offset

    def is_over(self, header: BatchHeader, batch: BytesLike) -> bool:
        """Meet a control batch. Is it a marker without use, since no data of its transaction is left before it?"""
        if not header.count:
            return True
        marker = read_marker(batch)
        if marker is None:
            return False
        had_data = header.producer_id in self._with_data
        self._with_data.discard(header.producer_id)
        entry = self._entry_at(header.producer_id, header.last_offset)
        if had_data and marker.is_abort and entry is not None:
            self._indexed.append(entry)
        return not had_data

    def _entry_at(self, producer_id: int, offset: int) -> AbortedTransaction | None:
        """The first of the producer's aborted transactions that ends at the offset or behind it."""
        entries = self._aborted.get(producer_id)
        while entries and entries[0].last_offset < offset:
            entries.popleft()
        return entries[0] if entries else None

    def take_indexed(self) -> list[AbortedTransaction]:
        """The aborted transactions whose marker was met since the last call, and whose data a reader may still see."""
        indexed, self._indexed = self._indexed, []
        return indexed
