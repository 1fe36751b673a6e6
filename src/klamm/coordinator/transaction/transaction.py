"""Transaction: what is known of one transactional id, and the steps from one state to the next.

A step is a function from a Transaction to the next one. It decides nothing: who may take it is asked in shard.py.

Epochs are 16 bits wide. The last one, 32767, is never given to a client: it is what fences the one before it. A producer
whose epochs are used up gets another producer id, epoch 0; until the markers of the old one are written the new id waits
as `next_producer_id`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from klamm.base.clock import Ms
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import NEXT, State
from klamm.metadata.features import BUMPS_EPOCHS

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_TIME = -1
LAST_EPOCH = 32_767


@dataclass(frozen=True, slots=True)
class Transaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State
    update_ms: Ms
    start_ms: Ms = NO_TIME
    partitions: frozenset[TopicPartition] = frozenset()
    # The producer id before the last step; another one than now only right after the epochs were used up.
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    # The epoch before the last bump, if its owner asked for that: whoever comes with it repeats its request. As in
    # Kafka it is not written down.
    last_producer_epoch: int = NO_EPOCH
    # transaction.version as the client of the last step uses it.
    client_version: int = 0

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)

    @property
    def is_commit(self) -> bool:
        return self.state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)

    @property
    def coming_producer(self) -> Producer:
        """What the producer is to use after this transaction."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return Producer(self.next_producer_id, 0)
        return self.producer


def is_exhausted(epoch: int) -> bool:
    return epoch >= LAST_EPOCH - 1


def created(transactional_id: str, producer_id: int, timeout_ms: int, now: Ms) -> Transaction:
    """A transactional id as nobody has seen it yet: without an epoch."""
    return Transaction(transactional_id, producer_id, NO_EPOCH, timeout_ms, State.EMPTY, now)


def initialized(
    before: Transaction, producer: Producer, last_epoch: int, timeout_ms: int, now: Ms
) -> Transaction:
    """InitProducerId: this producer and nobody else, and nothing open."""
    return _step(
        before,
        replace(
            before,
            state=State.EMPTY,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIME,
            update_ms=now,
        ),
    )


def joined(
    before: Transaction, partitions: frozenset[TopicPartition], client_version: int, now: Ms
) -> Transaction:
    """These partitions take part too."""
    return _step(
        before,
        replace(
            before,
            state=State.ONGOING,
            partitions=before.partitions | partitions,
            start_ms=before.start_ms if before.state is State.ONGOING else now,
            update_ms=now,
            client_version=client_version,
        ),
    )


def ended(
    before: Transaction, is_commit: bool, client_version: int, next_producer_id: int, now: Ms
) -> Transaction:
    """The decision, by the transaction's own producer."""
    after = replace(
        before,
        state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT,
        next_producer_id=next_producer_id,
        start_ms=before.start_ms if before.state is State.ONGOING else now,
        update_ms=now,
        client_version=client_version,
    )
    if client_version >= BUMPS_EPOCHS:
        after = _bumped(after)
    return _step(before, after)


def fenced(before: Transaction, server_version: int, next_producer_id: int, now: Ms) -> Transaction:
    """An abort on nobody's behalf. The epoch rises, so that the producer is out."""
    if server_version >= BUMPS_EPOCHS:
        return ended(before, False, server_version, next_producer_id, now)
    return _step(
        before,
        replace(
            _bumped(before),
            state=State.PREPARE_ABORT,
            last_producer_epoch=NO_EPOCH,
            update_ms=now,
            client_version=0,
        ),
    )


def completed(before: Transaction, now: Ms) -> Transaction:
    """Every marker is written."""
    producer = before.coming_producer
    return _step(
        before,
        replace(
            before,
            state=(
                State.COMPLETE_COMMIT
                if before.state is State.PREPARE_COMMIT
                else State.COMPLETE_ABORT
            ),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            update_ms=now,
        ),
    )


def _bumped(before: Transaction) -> Transaction:
    return replace(
        before,
        producer_epoch=min(before.producer_epoch + 1, LAST_EPOCH),
        last_producer_epoch=before.producer_epoch,
    )


def _step(before: Transaction, after: Transaction) -> Transaction:
    assert after.state in NEXT[before.state], (before, after)
    return replace(after, previous_producer_id=before.producer_id)
