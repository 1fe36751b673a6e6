"""Transactions of one producer: its state, and its talk with the coordinator.

Speaks both protocols. With transaction.version 2 (KIP-890) the broker adds a partition when the first batch comes, and
gives a new epoch with every end; before that, partitions are added by name and the epoch lasts until something failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.errors import ProducerFailed, TransactionFailed
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.client.producer.batch import NOBODY, ProducerId
from klamm.client.producer.sequences import Sequences
from klamm.client.producer.transaction_requests import (
    add_offsets_request,
    add_partitions_request,
    codes_of,
    commit_offsets_request,
)
from klamm.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from klamm.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from klamm.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse

T = TypeVar("T")

# The last versions of the protocol before transaction.version 2; newer ones mean the newer protocol.
PRODUCE_BEFORE_V2 = 11
_ADD_PARTITIONS_OF_CLIENTS = 3
_END_BEFORE_V2 = 4
_COMMIT_OFFSETS_BEFORE_V2 = 4

_ABORTABLE = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
)
_FATAL_FOR_A_BATCH = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_TXN_STATE,
    }
)
# After these the coordinator takes no end of the transaction: it is gone already.
_NOTHING_TO_END = frozenset({ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.UNKNOWN_PRODUCER_ID})


class State(Enum):
    NEW = "new"  # init_transactions has not been called
    READY = "ready"  # between transactions
    OPEN = "open"
    ABORTABLE = "abortable"  # something failed: abort is all that is left
    COMMITTING = "committing"  # the outcome of a commit is not known: commit again
    FATAL = "fatal"


class Transactions:
    def __init__(
        self, cluster: Cluster, transactional_id: str, timeout_ms: int, sequences: Sequences
    ) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._sequences = sequences
        self.state = State.NEW
        self.is_version_2 = False
        self._error: ApiError | None = None
        self._added: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        self._is_started = False
        self._needs_new_epoch = False

    # Steps.

    async def init(self) -> None:
        """Take the transactional id over: whoever had it before is fenced, and what it left open is aborted."""
        if self.state is not State.NEW:
            raise self._wrong_state("init_transactions")
        await self._init(NOBODY)
        self.state = State.READY

    def begin(self) -> None:
        if self.state is not State.READY:
            raise self._wrong_state("begin")
        self._added.clear()
        self._wanted.clear()
        self._is_started = False
        self._error = None
        self.state = State.OPEN

    async def commit(self) -> None:
        """All records must have been delivered."""
        if self.state not in (State.OPEN, State.COMMITTING):
            raise self._wrong_state("commit")
        self.state = State.COMMITTING
        if self._is_started:
            await self._end(is_commit=True)
        self.state = State.READY

    async def abort(self) -> None:
        """Nothing may be on its way any more."""
        if self.state not in (State.OPEN, State.ABORTABLE):
            raise self._wrong_state("abort")
        is_gone = self._error is not None and self._error.code in _NOTHING_TO_END
        if self._is_started and not is_gone:
            await self._end(is_commit=False)
        if is_gone or self._needs_new_epoch or self._sequences.has_holes:
            await self._init(self._sequences.producer)
        self._error = None
        self.state = State.READY

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupMetadata
    ) -> None:
        """Commit a consumer's offsets as a part of this transaction."""
        if self.state is not State.OPEN:
            raise self._wrong_state("send_offsets")
        if not offsets:
            return
        producer = self._sequences.producer
        if not self.is_version_2:
            request = add_offsets_request(self._id, producer, group.group_id)

            async def add() -> None:
                answer = await self._ask(request, AddOffsetsToTxnResponse)
                self._judge(answer.error_code)

            await self._persist(add)
        self._is_started = True
        commit = commit_offsets_request(self._id, producer, offsets, group)

        async def store() -> None:
            answer = await self._cluster.ask_coordinator(
                CoordinatorKind.GROUP,
                group.group_id,
                commit,
                TxnOffsetCommitResponse,
                at_most=None if self.is_version_2 else _COMMIT_OFFSETS_BEFORE_V2,
            )
            for part in (p for topic in answer.topics for p in topic.partitions):
                self._cluster.judge(CoordinatorKind.GROUP, group.group_id, part.error_code)

        await self._persist(store)

    # What the sender asks and tells.

    @property
    def failure(self) -> ApiError | None:
        """Why nothing more may be sent in this transaction, or ever."""
        is_lost = self.state in (State.ABORTABLE, State.FATAL)
        return self._wrong_state("send") if is_lost else None

    @property
    def is_open(self) -> bool:
        """There is something to abort."""
        return self.state in (State.OPEN, State.ABORTABLE)

    def check_may_send(self) -> None:
        if self.state is not State.OPEN:
            raise self._wrong_state("send")

    def admits(self, partition: TopicPartition) -> bool:
        """Whether the partition is part of the transaction, so that a batch may go to it."""
        if self.state is not State.OPEN:
            return False
        if self.is_version_2:
            self._is_started = True
            return True
        if partition not in self._added:
            self._wanted.add(partition)
        return partition in self._added

    @property
    def has_partitions_to_add(self) -> bool:
        return bool(self._wanted)

    async def add_partitions(self) -> None:
        """Make the partitions that batches wait for part of the transaction. What goes wrong is in `state`."""
        wanted = frozenset(self._wanted)
        request = add_partitions_request(self._id, self._sequences.producer, wanted)

        async def add() -> None:
            answer = await self._ask(
                request, AddPartitionsToTxnResponse, at_most=_ADD_PARTITIONS_OF_CLIENTS
            )
            for code in codes_of(answer):
                self._judge(code)

        try:
            await self._persist(add)
        except ApiError:
            return
        finally:
            self._wanted -= wanted
        self._added |= wanted
        self._is_started = True

    def batch_failed(self, error: ApiError) -> None:
        """A record of the transaction is lost, so the transaction is."""
        if error.code in _FATAL_FOR_A_BATCH:
            self._fail(error)
        else:
            self._doom(error)
            # An epoch that the broker does not take any more is not good enough for an abort alone.
            self._needs_new_epoch |= error.code == ErrorCode.INVALID_PRODUCER_EPOCH

    # The coordinator.

    async def _init(self, known: ProducerId) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
        )

        async def ask() -> InitProducerIdResponse:
            answer = await self._ask(request, InitProducerIdResponse)
            self._judge(answer.error_code)
            return answer

        answer = await self._persist(ask)
        self._needs_new_epoch = False
        self._sequences.begin(ProducerId(answer.producer_id, answer.producer_epoch))
        node_id = await self._cluster.coordinator(CoordinatorKind.TRANSACTION, self._id)
        features = (await self._cluster.connection(node_id, "coordinator")).features
        self.is_version_2 = features.get("transaction.version", 0) >= 2

    async def _end(self, *, is_commit: bool) -> None:
        producer = self._sequences.producer
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=is_commit,
        )

        async def ask() -> EndTxnResponse:
            answer = await self._ask(
                request, EndTxnResponse, at_most=None if self.is_version_2 else _END_BEFORE_V2
            )
            self._judge(answer.error_code)
            return answer

        answer = await self._persist(ask)
        if self.is_version_2 and answer.producer_id >= 0:
            self._needs_new_epoch = False
            self._sequences.begin(ProducerId(answer.producer_id, answer.producer_epoch))

    async def _ask(self, request: object, answer: type[T], at_most: int | None = None) -> T:
        return await self._cluster.ask_coordinator(
            CoordinatorKind.TRANSACTION, self._id, request, answer, at_most=at_most
        )

    def _judge(self, code: int) -> None:
        self._cluster.judge(CoordinatorKind.TRANSACTION, self._id, code)

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until the coordinator decides. Its refusals change our state; running out of time does not."""
        try:
            return await self._cluster.persist(attempt)
        except ApiError as e:
            if e.code in _ABORTABLE:
                self._doom(e)
                raise TransactionFailed(e.code, e.message) from e
            if not e.code.retriable:
                self._fail(e)
                raise self._wrong_state("going on") from e
            raise

    # States.

    def _doom(self, error: ApiError) -> None:
        if self.state in (State.OPEN, State.COMMITTING):
            self.state = State.ABORTABLE
            self._error = error

    def _fail(self, error: ApiError) -> None:
        if self.state is not State.FATAL:
            self.state = State.FATAL
            # The old code for the same thing: newer producers are told PRODUCER_FENCED.
            is_fenced = error.code == ErrorCode.INVALID_PRODUCER_EPOCH
            self._error = ApiError(ErrorCode.PRODUCER_FENCED) if is_fenced else error

    def _wrong_state(self, step: str) -> ApiError:
        if self.state is State.FATAL and self._error is not None:
            return ProducerFailed(self._error.code, self._error.message)
        if self.state is State.ABORTABLE and self._error is not None:
            return TransactionFailed(self._error.code, self._error.message)
        return ApiError(
            ErrorCode.INVALID_TXN_STATE, f"{step} is not possible: the state is {self.state.value}"
        )
