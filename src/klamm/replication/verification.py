"""Verification: between the question whether a partition belongs to a producer's transaction and the first append.

The coordinator's answer may be old when it comes: the transaction may have ended on this partition meanwhile. So whoever
asks holds a Guard. A marker voids it, and an append that comes with a void guard is refused (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.state.producers import ProducerStates

if TYPE_CHECKING:
    from klamm.replication.partition import Partition


def is_open(producers: ProducerStates, producer_id: int, epoch: int) -> bool:
    """Has the partition records of this producer's transaction?"""
    state = producers.get(producer_id)
    return state is not None and state.txn_first_offset is not None and state.epoch == epoch


class Guard:
    """One producer's wait for the coordinator; shared by the requests that wait with it."""

    __slots__ = ("epoch", "lowest_sequence", "waiting")

    def __init__(self, epoch: int, lowest_sequence: int) -> None:
        self.epoch = epoch
        # Of several batches in flight the first must be appended first, whichever is answered first.
        self.lowest_sequence = lowest_sequence
        self.waiting = 1


class Verifications:
    """The guards of one partition."""

    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[int, Guard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def begin(
        self,
        producers: ProducerStates,
        producer_id: int,
        epoch: int,
        sequence: int,
        *,
        bumps_epochs: bool,
    ) -> Guard | None:
        """None if the transaction is open here: then nobody need be asked."""
        state = producers.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        if is_open(producers, producer_id, epoch):
            return None
        # Where every transaction has an epoch of its own, an epoch that is new here begins with sequence 0.
        is_new = state is None or state.epoch != epoch
        lowest = 0 if bumps_epochs and is_new else sequence
        guard = self._guards.get(producer_id)
        if guard is None or guard.epoch != epoch:
            guard = self._guards[producer_id] = Guard(epoch, lowest)
        else:
            guard.lowest_sequence = min(guard.lowest_sequence, lowest)
            guard.waiting += 1
        return guard

    def holds(self, producer_id: int, guard: Guard) -> bool:
        return self._guards.get(producer_id) is guard

    def end(self, producer_id: int, guard: Guard) -> None:
        """The request that waited with this guard is over."""
        guard.waiting -= 1
        if not guard.waiting and self._guards.get(producer_id) is guard:
            del self._guards[producer_id]

    def check(
        self, producers: ProducerStates, producer_id: int, guard: Guard, sequence: int
    ) -> None:
        """May the batch that waited be appended now?"""
        if is_open(producers, producer_id, guard.epoch):
            # Another one that waited was first.
            return
        if self._guards.get(producer_id) is not guard:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)
        if sequence > guard.lowest_sequence:
            raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def void(self, producer_id: int) -> None:
        """A transaction of this producer ended here."""
        self._guards.pop(producer_id, None)

    def void_all(self) -> None:
        """Another leads: transactions end there, and their markers come with what is fetched."""
        self._guards.clear()


class Verification:
    """One batch's way, from the question to the append. `begin` it, `check` it before the append, and `end` it in any case."""

    __slots__ = (
        "_bumps_epochs",
        "_epoch",
        "_guard",
        "_producer_id",
        "_refusal",
        "_sequence",
        "partition",
    )

    def __init__(
        self,
        partition: Partition,
        producer_id: int,
        epoch: int,
        sequence: int,
        *,
        bumps_epochs: bool,
    ) -> None:
        self.partition = partition
        self._producer_id = producer_id
        self._epoch = epoch
        self._sequence = sequence
        self._bumps_epochs = bumps_epochs
        self._guard: Guard | None = None
        self._refusal: ApiError | None = None

    def begin(self) -> bool:
        """False if the transaction is open here: then nobody need be asked."""
        partition = self.partition
        self._guard = partition.verifications.begin(
            partition.log.producers,
            self._producer_id,
            self._epoch,
            self._sequence,
            bumps_epochs=self._bumps_epochs,
        )
        return self._guard is not None

    @property
    def is_void(self) -> bool:
        """A transaction of the producer ended here since: perhaps only the one before."""
        partition = self.partition
        return (
            self._guard is not None
            and not partition.verifications.holds(self._producer_id, self._guard)
            and not is_open(partition.log.producers, self._producer_id, self._epoch)
        )

    def begin_again(self) -> None:
        """The question is asked once more: what ended here before it does no harm."""
        self.end()
        try:
            self.begin()
        except ApiError as e:
            self._refusal = e

    def check(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._guard is not None:
            partition = self.partition
            partition.verifications.check(
                partition.log.producers, self._producer_id, self._guard, self._sequence
            )

    def end(self) -> None:
        if self._guard is not None:
            self.partition.verifications.end(self._producer_id, self._guard)
            self._guard = None
