"""The numbers by which a broker knows a batch it has seen: producer id, epoch, and a sequence per partition.

The rules of KIP-98 and KIP-360 for a producer that keeps up to five batches per partition on their way:

- sequences are given when a batch is first sent, and stay for as long as its fate is not known;
- the first batch of a producer id to a partition travels alone: a broker that knows nothing of the producer takes any
  sequence, so were the first one refused, the second would be taken for the beginning;
- of batches that must be sent again only the oldest goes out; the next follows when that one is through;
- a hole (a batch that failed for good, or that the broker lost) is closed by a new epoch, in which the partition counts
  from 0 again. Only when nothing is on its way: otherwise a batch could arrive under both numbers.

Pure: nothing is sent here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition
from klamm.client.producer.batch import NOBODY, Batch, ProducerId, next_sequence

MAX_EPOCH = 0x7FFF


@dataclass(slots=True)
class _Partition:
    producer: ProducerId
    next_sequence: int = 0
    # Batches with a sequence whose fate is not known, oldest first, and how many of them are on their way.
    pending: list[Batch] = field(default_factory=list)
    in_flight: int = 0
    # A batch timed out: whether the broker has it shows when a later one is answered.
    is_unresolved: bool = False


@dataclass(slots=True)
class Sequences:
    max_in_flight: int
    is_transactional: bool = False
    producer: ProducerId = NOBODY
    _partitions: dict[TopicPartition, _Partition] = field(default_factory=dict)
    _bump_wanted: set[TopicPartition] = field(default_factory=set)
    # Partitions whose broker knows the producer id.
    _introduced: set[TopicPartition] = field(default_factory=set)

    @property
    def needs_new_id(self) -> bool:
        """No id yet, or all its epochs are used up: the broker must be asked."""
        if not self.producer.is_known:
            return True
        is_used_up = self.producer.epoch >= MAX_EPOCH and bool(self._bump_wanted)
        return is_used_up and not self.is_transactional

    @property
    def has_holes(self) -> bool:
        """A sequence was given to a batch that the broker may never get."""
        unresolved = any(state.is_unresolved for state in self._partitions.values())
        return unresolved or bool(self._bump_wanted)

    def begin(self, producer: ProducerId) -> None:
        """A new id or epoch from the coordinator. Each partition changes over once nothing of the old is pending."""
        if producer.producer_id != self.producer.producer_id:
            self._introduced.clear()
        self.producer = producer
        if self.is_transactional:
            self._partitions.clear()
            self._bump_wanted.clear()
            return
        for partition in sorted(self._bump_wanted):
            self._restart(partition)

    def may_send(self, batch: Batch) -> bool:
        """Whether this batch, the first in its partition's queue, may go out now."""
        state = self._state(batch.partition)
        if batch.partition in self._bump_wanted:
            return self._try_bump(batch.partition) and self.may_send(batch)
        most = self.max_in_flight if batch.partition in self._introduced else 1
        if state.in_flight >= most:
            return False
        if batch.has_sequence:
            return state.pending[0] is batch
        if state.is_unresolved:
            return False
        return state.producer == self.producer

    def sent(self, batch: Batch) -> None:
        state = self._state(batch.partition)
        state.in_flight += 1
        if not batch.has_sequence:
            batch.producer = state.producer
            batch.base_sequence = state.next_sequence
            state.next_sequence = next_sequence(state.next_sequence, batch.count)
            state.pending.append(batch)

    def returned(self, batch: Batch) -> None:
        """Its request is over, whatever came of it."""
        state = self._state(batch.partition)
        state.in_flight = max(0, state.in_flight - 1)

    def acked(self, batch: Batch) -> None:
        state = self._state(batch.partition)
        _remove(state.pending, batch)
        if batch.producer.producer_id == self.producer.producer_id:
            self._introduced.add(batch.partition)
        if batch.producer == state.producer:
            # What came after the batch that timed out was in order: so the broker has that one, too.
            state.is_unresolved = False

    def failed(self, batch: Batch, *, is_known: bool) -> None:
        """It is given up. `is_known`: the broker refused it, so it does not have it."""
        if not batch.has_sequence:
            return
        state = self._state(batch.partition)
        _remove(state.pending, batch)
        if is_known or not state.pending:
            self._bump_wanted.add(batch.partition)
        else:
            state.is_unresolved = True

    def replaced(self, batch: Batch, parts: tuple[Batch, ...]) -> None:
        pending = self._state(batch.partition).pending
        at = _index(pending, batch)
        pending[at : at + 1] = parts

    def out_of_order(self, batch: Batch) -> bool:
        """The broker misses something before this batch. True: another try will do, perhaps in a new epoch."""
        state = self._state(batch.partition)
        is_oldest = bool(state.pending) and state.pending[0] is batch
        if not is_oldest or state.in_flight:
            # It came before one that goes out again.
            return True
        if not self.is_transactional:
            self._bump_wanted.add(batch.partition)
        return not self.is_transactional

    def unknown_producer(self, batch: Batch) -> bool:
        """The broker has forgotten this producer."""
        if not self.is_transactional and batch.producer == self.producer:
            self._bump_wanted.add(batch.partition)
        return not self.is_transactional

    def _state(self, partition: TopicPartition) -> _Partition:
        state = self._partitions.get(partition)
        is_over = state is not None and not state.pending and not state.in_flight
        if state is None or (is_over and state.producer != self.producer):
            state = self._partitions[partition] = _Partition(self.producer)
        return state

    def _try_bump(self, partition: TopicPartition) -> bool:
        state = self._partitions[partition]
        if state.in_flight or self.is_transactional or self.needs_new_id:
            return False
        if state.producer == self.producer:
            self.producer = ProducerId(self.producer.producer_id, self.producer.epoch + 1)
        self._restart(partition)
        return True

    def _restart(self, partition: TopicPartition) -> None:
        """Number what is pending from 0 in the new epoch."""
        state = self._partitions[partition]
        if state.in_flight:
            return
        self._bump_wanted.discard(partition)
        restarted = _Partition(self.producer, pending=state.pending)
        for batch in state.pending:
            batch.producer = self.producer
            batch.base_sequence = restarted.next_sequence
            restarted.next_sequence = next_sequence(restarted.next_sequence, batch.count)
        self._partitions[partition] = restarted


def _index(pending: list[Batch], batch: Batch) -> int:
    return next(at for at, known in enumerate(pending) if known is batch)


def _remove(pending: list[Batch], batch: Batch) -> None:
    if any(known is batch for known in pending):
        del pending[_index(pending, batch)]
