"""A transaction coordinator at work on a table: a shard, its log as bytes, a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.settings.broker import build_settings
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.transaction import TransactionLogValue
from klamm.coordinator.runtime import Runtime
from klamm.coordinator.shard import Outcome, Producer, Reply
from klamm.coordinator.transaction.endings import Ending
from klamm.coordinator.transaction.records import FRAMING
from klamm.coordinator.transaction.shard import TransactionShard
from klamm.coordinator.transaction.states import State
from klamm.coordinator.transaction.transaction import Transaction
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.end_txn import EndTxnResponse
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

ID = "tx"
TIMEOUT_MS = 60_000
P0, P1, P2 = (TopicPartition("topic", index) for index in range(3))
OLD, NEW = 0, 2  # transaction.version


class Ids:
    """Producer ids from 100 on; `left` may be set to say how many there are."""

    def __init__(self) -> None:
        self.next = 100
        self.left: int | None = None

    def take(self) -> int | None:
        if self.left is not None:
            if not self.left:
                return None
            self.left -= 1
        self.next += 1
        return self.next - 1


class Written:
    """A log in memory. What is written is committed, unless `holds`."""

    def __init__(self) -> None:
        self.entries: list[tuple[bytes, bytes | None]] = []
        # How many came at a time.
        self.batches: list[int] = []
        self.high_watermark = 0
        self.holds = False
        self.is_open = True

    @property
    def commits_at_once(self) -> bool:
        return not self.holds

    @property
    def end_offset(self) -> int:
        return len(self.entries)

    def append(
        self, records: Sequence[CoordinatorRecord], producer: Producer | None, now: int
    ) -> int:
        first = self.end_offset
        self.batches.append(len(records))
        self.entries += [FRAMING.encode(record) for record in records]
        if not self.holds:
            self.high_watermark = self.end_offset
        return first


class Desk:
    def __init__(self, version: int = NEW, **settings: object) -> None:
        texts = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.settings = build_settings(texts).transaction
        self.version = version
        self.now = 1_000_000
        self.wall_ahead = 0
        self.ids = Ids()
        self.log = Written()
        self._tokens = 0
        self.reload()

    @property
    def moment(self) -> Now:
        """`now` on both clocks. A test that sets the wall clock moves `wall_ahead`."""
        return Now(self.now, self.now + self.wall_ahead)

    def reload(self) -> None:
        """The coordinator is lost with all that it did not write down, and another one reads the log."""
        self.shard = TransactionShard(self.settings, self.ids)
        self.log.entries = self.log.entries[: self.log.high_watermark]
        for offset, entry in enumerate(self.log.entries):
            record = FRAMING.decode(*entry)
            assert record is not None
            self.shard.replay(record, offset, None)
        self.runtime = Runtime(self.shard, self.log, TIMEOUT_MS)
        image = ClusterImage(features={"transaction.version": self.version})
        self.runtime.carry_out(self.shard.loaded(image, self.moment), self.moment)
        self.shard.check_invariants()

    def ask(self, decide: Callable[[int], Outcome]) -> Reply | None:
        """The reply; None while what it saw is not committed. Raises what it says, if it is an error."""
        self._tokens += 1
        token = self._tokens
        replies = dict(self.runtime.carry_out(decide(token), self.moment))
        self.shard.check_invariants()
        reply = replies.get(token)
        if isinstance(reply, ApiError):
            raise reply
        return reply

    # -- what clients ask -------------------------------------------------------------------------------------------

    def init(
        self, claimed: Producer | None = None, *, name: str = ID, timeout_ms: int = TIMEOUT_MS
    ) -> Producer:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)
        if claimed is not None:
            request.producer_id, request.producer_epoch = claimed
        reply = self.ask(lambda token: self.shard.init_producer_id(request, token, self.moment))
        assert isinstance(reply, InitProducerIdResponse)
        return Producer(reply.producer_id, reply.producer_epoch)

    def add(self, producer: Producer, *partitions: TopicPartition, name: str = ID) -> None:
        self.ask(
            lambda token: self.shard.add_partitions(
                name, producer, partitions, token, client_version=self.version, now=self.moment
            )
        )

    def verify(
        self, producer: Producer, *partitions: TopicPartition, name: str = ID
    ) -> dict[TopicPartition, ErrorCode]:
        reply = self.ask(
            lambda token: self.shard.verify_partitions(name, producer, partitions, token)
        )
        assert isinstance(reply, dict)
        return reply

    def end(
        self,
        producer: Producer,
        *,
        commit: bool,
        name: str = ID,
        version: int | None = None,
    ) -> Producer:
        """What the client is to go on with."""
        reply = self.ask(
            lambda token: self.shard.end(
                name,
                producer,
                commit,
                token,
                client_version=self.version if version is None else version,
                now=self.moment,
            )
        )
        assert isinstance(reply, EndTxnResponse)
        if reply.producer_id == -1:
            return producer
        return Producer(reply.producer_id, reply.producer_epoch)

    # -- what happens by itself -------------------------------------------------------------------------------------

    def endings(self) -> list[Ending]:
        return self.shard.endings(self.log.high_watermark)

    def mark(self, *partitions: TopicPartition, name: str = ID) -> None:
        """These have their markers; without any: all of them."""
        (ending,) = (each for each in self.endings() if each.transactional_id == name)
        written = partitions or tuple(ending.unmarked)
        self.ask(
            lambda token: self.shard.marked(name, ending.producer, written, token, self.moment)
        )

    def pass_time(self, ms: int) -> None:
        """Lets the alarms ring that are due meanwhile."""
        end = self.now + ms
        while (at := self.shard.deadlines.next) is not None and at <= end:
            self.now = max(at, self.now)
            self.runtime.carry_out(self.shard.wake(self.moment), self.moment)
            self.shard.check_invariants()
        self.now = end

    # -- a look at it -----------------------------------------------------------------------------------------------

    @property
    def transaction(self) -> Transaction:
        return self.shard.transactions[ID]

    @property
    def state(self) -> State:
        return self.transaction.state

    def written(self, name: str = ID) -> list[TransactionLogValue | None]:
        """The values that were written for an id; None for a tombstone."""
        records = [FRAMING.decode(*entry) for entry in self.log.entries]
        return [
            record.value  # type: ignore[misc]
            for record in records
            if record is not None and record.key.transactional_id == name  # type: ignore[attr-defined]
        ]

    def in_state(self, state: State) -> Producer:
        """Brings the id there in the shortest way. Gives the producer that the coordinator has then."""
        producer = self.init()
        if state is State.EMPTY:
            return producer
        self.add(producer, P0)
        if state is State.ONGOING:
            return producer
        self.end(producer, commit=state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT))
        if state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
            self.mark()
        assert self.state is state
        return self.transaction.producer


def refusal(act: Callable[[], object]) -> ErrorCode | None:
    """The code that this was refused with; None if it was not."""
    try:
        act()
    except ApiError as e:
        return e.code
    return None
