"""Endings: the transactions that are decided, and the partitions whose markers are still to be written.

None of this is written down: a Prepare state in the log says that all of a transaction's markers are to be written, and a
marker that is written twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Ending:
    """A decision, and what is left to do for it."""

    transactional_id: str
    producer: Producer
    is_commit: bool
    # How strictly a partition may check the marker's epoch (KIP-1228).
    client_version: int
    # Where the decision stands in the log: no marker goes out before it is committed.
    offset: int
    unmarked: frozenset[TopicPartition]


class Endings:
    __slots__ = ("_endings",)

    def __init__(self) -> None:
        self._endings: dict[str, Ending] = {}

    def __len__(self) -> int:
        return len(self._endings)

    def begin(self, transaction: Transaction, offset: int) -> None:
        self._endings[transaction.transactional_id] = Ending(
            transaction.transactional_id,
            transaction.producer,
            transaction.is_commit,
            transaction.client_version,
            offset,
            transaction.partitions,
        )

    def drop(self, transactional_id: str) -> None:
        self._endings.pop(transactional_id, None)

    def get(self, transactional_id: str) -> Ending | None:
        return self._endings.get(transactional_id)

    def committed(self, high_watermark: int) -> list[Ending]:
        return [each for each in self._endings.values() if each.offset < high_watermark]

    def mark(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> Ending | None:
        """These have their markers; None if they belong to an ending that is over."""
        ending = self._endings.get(transactional_id)
        if ending is None or ending.producer != producer:
            return None
        ending = self._endings[transactional_id] = Ending(
            ending.transactional_id,
            ending.producer,
            ending.is_commit,
            ending.client_version,
            ending.offset,
            ending.unmarked.difference(partitions),
        )
        return ending
