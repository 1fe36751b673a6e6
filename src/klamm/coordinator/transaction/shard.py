"""TransactionShard: one partition of __transaction_state, and all transactional ids that belong to it.

Who asks must be the producer that the id belongs to now. One that is older hears PRODUCER_FENCED, one that never was
INVALID_PRODUCER_ID_MAPPING. While a transaction is ending everything else waits: CONCURRENT_TRANSACTIONS.

The shell asks `endings` after every step for the markers that are to be written, and says `marked` when they are.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Protocol

from klamm.base.clock import Ms, Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.settings.declare import INT_MAX
from klamm.base.settings.transaction import TransactionSettings
from klamm.base.token import Token
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.transaction import TransactionLogKey, TransactionLogValue
from klamm.coordinator.shard import NO_LIMIT, NOTHING, Outcome, Producer, Room, first_that_fit
from klamm.coordinator.transaction import ending_rules
from klamm.coordinator.transaction.endings import Ending, Endings
from klamm.coordinator.transaction.records import record_of, tombstone_of, transaction_of
from klamm.coordinator.transaction.states import AT_REST, ENDING, State
from klamm.coordinator.transaction.transaction import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    completed,
    created,
    ended,
    fenced,
    initialized,
    is_exhausted,
    joined,
)
from klamm.metadata.features import BUMPS_EPOCHS, TRANSACTION_VERSION
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.end_txn import EndTxnResponse
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_TIMEOUTS = "timeouts"
_EXPIRY = "expiry"


class ProducerIds(Protocol):
    def take(self) -> int | None:
        """A producer id that nobody had before; None if there is none at hand."""
        ...


# From so many partitions on a transaction may be too long to be written down.
_MANY = 1_000
# Whose names may be as long as names can be.
_ABORTS_AT_ONCE = 20
# How it went with each partition of a request.
Verdicts = dict[TopicPartition, ErrorCode]


class TransactionShard:
    def __init__(self, settings: TransactionSettings, producer_ids: ProducerIds) -> None:
        self.deadlines: Deadlines[Hashable] = Deadlines()
        self._room = NO_LIMIT
        self.transactions: dict[str, Transaction] = {}
        self._settings = settings
        self._producer_ids = producer_ids
        self._server_version = 0
        self._endings = Endings()
        self._ongoing: set[str] = set()
        # When each that is ongoing began, on the clock that nobody sets: its own timestamp is for others to read.
        self._began: dict[str, Ms] = {}
        # What a decision says that its record does not, until it is replayed.
        self._last_epochs: dict[str, int] = {}

    def limit(self, room: Room) -> None:
        self._room = room

    # -- InitProducerId ---------------------------------------------------------------------------------------------

    def init_producer_id(self, request: InitProducerIdRequest, token: Token, now: Now) -> Outcome:
        """The producer that owns the id from here on. What an older one left open is aborted first."""
        if not 0 < request.transaction_timeout_ms <= self._settings.transaction_max_timeout_ms:
            raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        assert request.transactional_id is not None
        claimed = None
        if request.producer_id != NO_PRODUCER_ID:
            claimed = Producer(request.producer_id, request.producer_epoch)
        before = self.transactions.get(request.transactional_id) or created(
            request.transactional_id,
            self._new_producer_id(),
            request.transaction_timeout_ms,
            now.wall,
        )
        if claimed is not None and not _may_claim(before, claimed):
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        if before.state in ENDING:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if before.state is State.ONGOING:
            # Nobody is ever given this epoch: the client comes again, and gets the one after it.
            return Outcome(
                self._fence(before, now), [(token, ApiError(ErrorCode.CONCURRENT_TRANSACTIONS))]
            )
        producer, last_epoch = self._next_producer(before, claimed)
        after = initialized(before, producer, last_epoch, request.transaction_timeout_ms, now.wall)
        reply = InitProducerIdResponse(producer_id=producer.id, producer_epoch=producer.epoch)
        return Outcome(self._write(after, now), [(token, reply)])

    def _next_producer(self, before: Transaction, claimed: Producer | None) -> tuple[Producer, int]:
        """The next producer id and epoch, and the epoch with which the same request may come again."""
        epoch = before.producer_epoch
        if before.is_exhausted and (claimed is None or claimed.epoch == epoch):
            last_epoch = NO_EPOCH if claimed is None else epoch
            return Producer(self._new_producer_id(), 0), last_epoch
        if claimed is None:
            return Producer(before.producer_id, epoch + 1), NO_EPOCH
        if epoch in (NO_EPOCH, claimed.epoch):
            return Producer(before.producer_id, epoch + 1), epoch
        if claimed.epoch == before.last_producer_epoch:
            return before.producer, claimed.epoch
        raise ApiError(ErrorCode.PRODUCER_FENCED)

    def _fence(self, before: Transaction, now: Now) -> list[CoordinatorRecord]:
        next_producer_id = self._next_producer_id(before, self._server_version)
        return self._write(fenced(before, self._server_version, next_producer_id, now.wall), now)

    def _next_producer_id(self, before: Transaction, version: int) -> int:
        """Where the epoch rises with the end: who goes on when there is none left."""
        is_needed = version >= BUMPS_EPOCHS and before.is_exhausted
        return self._new_producer_id() if is_needed else NO_PRODUCER_ID

    def _new_producer_id(self) -> int:
        taken = self._producer_ids.take()
        if taken is None:
            # Kafka's word for it; clients come again, and the shell has more by then.
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return taken

    # -- who takes part ---------------------------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        token: Token,
        *,
        client_version: int,
        now: Now,
    ) -> Outcome:
        """Make these part of the transaction, which begins if there is none."""
        before = self._of(transactional_id, producer)
        if before.state in ENDING:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        reply = token, dict.fromkeys(partitions, ErrorCode.NONE)
        if before.state is State.ONGOING and before.partitions.issuperset(partitions):
            return Outcome(replies=[reply])
        after = joined(before, frozenset(partitions), client_version, now.wall)
        if len(after.partitions) > _MANY and not self._room.fits(
            [record_of(after, self._server_version)]
        ):
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return Outcome(self._write(after, now), [reply])

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        token: Token,
    ) -> Outcome:
        """Are these part of the transaction?"""
        transaction = self._of(transactional_id, producer)
        if transaction.state in ENDING:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        verdicts = {
            each: ErrorCode.NONE
            if each in transaction.partitions
            else ErrorCode.TRANSACTION_ABORTABLE
            for each in partitions
        }
        return Outcome(replies=[(token, verdicts)])

    def _of(self, transactional_id: str, producer: Producer) -> Transaction:
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.producer_id != producer.id:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.producer_epoch != producer.epoch:
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        return transaction

    # -- the end ----------------------------------------------------------------------------------------------------

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        is_commit: bool,
        token: Token,
        *,
        client_version: int,
        now: Now,
    ) -> Outcome:
        """Commit or abort. Clients of transaction.version 2 are told the epoch of their next transaction."""
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        before = self.transactions.get(transactional_id)
        if before is None:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if client_version < BUMPS_EPOCHS:
            if ending_rules.is_repeated(before, producer, is_commit):
                return Outcome(replies=[(token, EndTxnResponse())])
            after = ended(before, is_commit, 0, NO_PRODUCER_ID, now.wall)
            return Outcome(self._write(after, now), [(token, EndTxnResponse())])
        if ending_rules.is_repeated_with_bump(before, producer, is_commit):
            return Outcome(replies=[(token, _bumped_to(before.producer))])
        next_producer_id = self._next_producer_id(before, client_version)
        after = ended(before, is_commit, client_version, next_producer_id, now.wall)
        return Outcome(self._write(after, now), [(token, _bumped_to(after.coming_producer))])

    def endings(self, high_watermark: int) -> list[Ending]:
        """The decisions below the high watermark whose markers are not all known to be written."""
        return self._endings.committed(high_watermark)

    def ending(self, transactional_id: str) -> Ending | None:
        return self._endings.get(transactional_id)

    def marked(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        token: Token,
        now: Now,
    ) -> Outcome:
        """The markers of these partitions are written, or no longer needed. The last one completes the transaction."""
        ending = self._endings.mark(transactional_id, producer, partitions)
        replies = [(token, True)]
        if ending is None or ending.unmarked:
            return Outcome(replies=replies)
        after = completed(self.transactions[transactional_id], now.wall)
        return Outcome(self._write(after, now), replies)

    def _write(self, after: Transaction, now: Now) -> list[CoordinatorRecord]:
        if after.state is State.ONGOING:
            self._began.setdefault(after.transactional_id, now.monotonic)
        self._watch_over(after, now)
        self._last_epochs[after.transactional_id] = after.last_producer_epoch
        return [record_of(after, self._server_version)]

    # -- replay -----------------------------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        key = record.key
        assert isinstance(key, TransactionLogKey)
        transactional_id = key.transactional_id
        self._endings.drop(transactional_id)
        self._ongoing.discard(transactional_id)
        last_epoch = self._last_epochs.pop(transactional_id, NO_EPOCH)
        if record.value is None:
            self.transactions.pop(transactional_id, None)
            self._began.pop(transactional_id, None)
            return
        assert isinstance(record.value, TransactionLogValue)
        transaction = transaction_of(key, record.value, last_epoch)
        self.transactions[transactional_id] = transaction
        if transaction.state is State.ONGOING:
            self._ongoing.add(transactional_id)
            return
        self._began.pop(transactional_id, None)
        if transaction.state in ENDING:
            self._endings.begin(transaction, offset)

    def replay_end(self, producer: Producer, is_commit: bool) -> None:
        """Nobody's transaction writes here."""

    def loaded(self, image: ClusterImage, now: Now) -> Outcome:
        for transactional_id in sorted(self._ongoing):
            # How long it has been under way only its timestamp tells now.
            age = max(0, now.wall - self.transactions[transactional_id].start_ms)
            self._began[transactional_id] = now.monotonic - age
        for transaction in self.transactions.values():
            self._watch_over(transaction, now)
        return self.follow(image, now)

    def follow(self, image: ClusterImage, now: Now) -> Outcome:
        self._server_version = image.features.get(TRANSACTION_VERSION, 0)
        return NOTHING

    # -- time -------------------------------------------------------------------------------------------------------

    def wake(self, now: Now) -> Outcome:
        """Stops where it writes something, as much as can be written at once. The rest stays due."""
        records: list[CoordinatorRecord] = []
        while not records and (key := self.deadlines.take(now.monotonic)) is not None:
            if key == _TIMEOUTS:
                records = self._abort_overdue(now)
                if not records and self._ongoing:
                    self._watch(_TIMEOUTS, now.monotonic)
            else:
                records = first_that_fit(self._unused(now.wall), self._room)
                if not records and self.transactions:
                    self._watch(_EXPIRY, now.monotonic)
            if records:
                # There may be more; if not, the next look finds nothing.
                self.deadlines.set(key, now.monotonic)
        return Outcome(records) if records else NOTHING

    def close(self) -> None:
        """Nobody keeps a part of it."""

    def _watch_over(self, transaction: Transaction, now: Now) -> None:
        if transaction.state is State.ONGOING:
            self._watch(_TIMEOUTS, now.monotonic)
        elif transaction.state not in ENDING:
            self._watch(_EXPIRY, now.monotonic)

    def _watch(self, what: str, since: Ms) -> None:
        """Look again after a while, unless that is arranged already."""
        if what in self.deadlines:
            return
        settings = self._settings
        interval = (
            settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
            if what == _TIMEOUTS
            else settings.transaction_remove_expired_transaction_cleanup_interval_ms
        )
        self.deadlines.set(what, since + interval)

    def _abort_overdue(self, now: Now) -> list[CoordinatorRecord]:
        records: list[CoordinatorRecord] = []
        partitions = 0
        for transactional_id in sorted(self._ongoing):
            before = self.transactions[transactional_id]
            # One that an outside coordinator is to decide on (KIP-939) waits for ever.
            age = now.monotonic - self._began[transactional_id]
            if before.timeout_ms == INT_MAX or age <= before.timeout_ms:
                continue
            partitions += len(before.partitions)
            if records and (partitions > _MANY or len(records) == _ABORTS_AT_ONCE):
                break
            try:
                records += self._fence(before, now)
            except ApiError:
                # There is no producer id to go on with. The next look finds one.
                continue
        return records

    def _unused(self, now: Ms) -> Iterator[CoordinatorRecord]:
        oldest = now - self._settings.transactional_id_expiration_ms
        for each in self.transactions.values():
            if each.state in AT_REST and each.update_ms <= oldest:
                yield tombstone_of(each.transactional_id)

    def check_invariants(self) -> None:
        ending = {each.transactional_id: each for each in self._endings.committed(1 << 62)}
        for transactional_id, each in self.transactions.items():
            assert each.transactional_id == transactional_id
            assert (each.state in ENDING) == (transactional_id in ending)
            assert (each.state is State.ONGOING) == (transactional_id in self._ongoing)
            assert (each.state is State.ONGOING) == (transactional_id in self._began)
            assert each.state in ENDING | {State.ONGOING} or not each.partitions
            assert each.state is not State.ONGOING or (each.partitions and each.start_ms >= 0)
            assert not is_exhausted(each.producer_epoch - 1) or each.state is not State.ONGOING
            assert each.next_producer_id == NO_PRODUCER_ID or each.state in ENDING
        for transactional_id, decision in ending.items():
            transaction = self.transactions[transactional_id]
            assert decision.producer == transaction.producer
            assert decision.unmarked <= transaction.partitions
        assert not self._ongoing or _TIMEOUTS in self.deadlines
        assert not self._last_epochs


def _may_claim(transaction: Transaction, claimed: Producer) -> bool:
    """May this producer go on with the id? Its epoch is looked at later."""
    if transaction.producer_epoch == NO_EPOCH or transaction.producer_id == claimed.id:
        return True
    # Its epochs were used up and it has not heard of its new id yet.
    return transaction.previous_producer_id == claimed.id and is_exhausted(claimed.epoch)


def _bumped_to(producer: Producer) -> EndTxnResponse:
    return EndTxnResponse(producer_id=producer.id, producer_epoch=producer.epoch)
