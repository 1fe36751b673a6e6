"""Clients, zombies, crashes, lost answers, late requests and slow markers in any order: a transaction is all or nothing.

The coordinator and what a partition knows of its producers are the real ones; partitions are lists, the network is a list of
all requests ever sent, any of which may arrive once more. One of the partitions stands for the offsets of a group: it is
written to in the same way.

What is checked needs no model of the coordinator, only what the clients were told:
  - a transaction's records are all visible or all invisible, in every partition, once nothing is open;
  - told committed: all of them, each once; told aborted: none;
  - who was replaced as the owner of the id can add nothing any more;
  - an epoch whose transaction is over is never written with again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from coordinator.transaction.desk import ID, NEW, TIMEOUT_MS, Desk
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.endings import Ending
from klamm.coordinator.transaction.states import ENDING
from klamm.log.state.producers import ProducerStates
from klamm.protocol.messages.end_txn import EndTxnResponse
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.replication.verification import Verifications

PLACES = [TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("__consumer_offsets", 7)]


class Data(NamedTuple):
    producer: Producer
    value: int


class End(NamedTuple):
    producer: Producer
    is_commit: bool


class Place:
    """A partition: a list, and what the real one knows of its producers."""

    def __init__(self) -> None:
        self.log: list[Data | End] = []
        self.producers = ProducerStates()
        self.verifications = Verifications()

    def append(self, data: Data, sequence: int) -> None:
        known = self.producers.check(*data.producer, sequence, 0, True)
        if known is not None:
            return
        offset = len(self.log)
        self.producers.appended(*data.producer, sequence, offset, offset, 0, True)
        self.log.append(data)

    def mark(self, end: End) -> None:
        state = self.producers.get(end.producer.id)
        if state is not None and end.producer.epoch < state.epoch:
            return
        is_open = state is not None and state.txn_first_offset is not None
        assert not is_open or state is None or end.producer.epoch > state.epoch
        self.producers.marked(*end.producer, 0, offset=len(self.log), timestamp=0, is_abort=False)
        self.verifications.void(end.producer.id)
        self.log.append(end)

    def visible(self) -> set[int]:
        """What a reader of committed records sees in the end."""
        seen: set[int] = set()
        pending: dict[int, list[int]] = {}
        for entry in self.log:
            if isinstance(entry, Data):
                pending.setdefault(entry.producer.id, []).append(entry.value)
            else:
                values = pending.pop(entry.producer.id, [])
                seen.update(values if entry.is_commit else [])
        assert not pending, "a transaction is still open"
        return seen


@dataclass(eq=False)
class Sent:
    """One transaction as its client knows it."""

    producer: Producer
    values: set[int] = field(default_factory=set)
    # Told that they are written; about the others nothing is known.
    acknowledged: set[int] = field(default_factory=set)
    told: str = "open"


@dataclass(eq=False)
class Client:
    number: int
    transaction: Sent
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    must_abort: bool = False
    # The end that was asked for and not answered.
    asked: bool | None = None
    is_dead: bool = False


class TransactionsAgainstClients(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(NEW)
        self.places = {name: Place() for name in PLACES}
        self.sent: list[Sent] = []
        self.network: list[Callable[[], object]] = []
        # The producers of transactions whose last marker is written.
        self.over: set[Producer] = set()
        self.values = 0
        self.owner = 0
        self.made = 0

    # -- clients ----------------------------------------------------------------------------------------------------

    @rule(target=clients)
    def initialise(self) -> object:
        request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=TIMEOUT_MS)
        try:
            reply = self.desk.ask(
                lambda token: self.desk.shard.init_producer_id(request, token, self.desk.moment)
            )
        except ApiError as e:
            self.expect(e, ErrorCode.CONCURRENT_TRANSACTIONS)
            return multiple()
        if reply is None:
            # It waits for what is not committed, and the client gives up.
            return multiple()
        assert isinstance(reply, InitProducerIdResponse)
        self.made += 1
        self.owner = self.made
        return Client(self.made, self.begin(Producer(reply.producer_id, reply.producer_epoch)))

    def expect(self, error: ApiError, *codes: ErrorCode) -> None:
        assert error.code in codes, error

    def begin(self, producer: Producer) -> Sent:
        self.sent.append(Sent(producer))
        return self.sent[-1]

    @rule(client=clients, name=st.sampled_from(PLACES), is_answered=st.booleans())
    def write(self, client: Client, name: TopicPartition, is_answered: bool) -> None:
        if client.is_dead or client.must_abort or client.asked is not None:
            return
        transaction = client.transaction
        self.values += 1
        data = Data(transaction.producer, self.values)
        sequence = client.sequences.get(name, 0)
        transaction.values.add(data.value)
        self.network.append(lambda: self.produce(name, data, sequence))
        try:
            self.produce(name, data, sequence)
        except ApiError as e:
            self.expect(e, *_EXPECTED)
            client.must_abort = True
            return
        assert client.number == self.owner, "a zombie has written"
        if is_answered:
            transaction.acknowledged.add(data.value)
            client.sequences[name] = sequence + 1
        else:
            client.must_abort = True

    def produce(self, name: TopicPartition, data: Data, sequence: int) -> None:
        """As a partition's leader does it."""
        place = self.places[name]
        producer = data.producer
        guard = place.verifications.begin(place.producers, *producer, sequence, bumps_epochs=True)
        if guard is not None:
            try:
                reply = self.desk.ask(
                    lambda token: self.desk.shard.add_partitions(
                        ID, producer, [name], token, client_version=NEW, now=self.desk.moment
                    )
                )
                if reply is None:
                    raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
                place.verifications.check(place.producers, producer.id, guard, sequence)
            finally:
                place.verifications.end(producer.id, guard)
        before = len(place.log)
        place.append(data, sequence)
        if len(place.log) > before:
            assert producer not in self.over, "an epoch that is over has written"

    @rule(client=clients, commit=st.booleans(), is_answered=st.booleans())
    def end(self, client: Client, commit: bool, is_answered: bool) -> None:
        if client.is_dead:
            return
        if client.asked is None:
            client.asked = commit and not client.must_abort
        is_commit, producer = client.asked, client.transaction.producer
        self.network.append(lambda: self.ask_end(producer, is_commit))
        try:
            following = self.ask_end(producer, is_commit)
        except ApiError as e:
            if e.code is ErrorCode.INVALID_TXN_STATE and is_commit:
                # Nothing was written, or it timed out: then it was not committed, and the client aborts.
                client.asked, client.must_abort = None, True
            elif e.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                self.expect(e, *_EXPECTED)
                client.is_dead = True
            return
        if following is None:
            return
        assert client.number == self.owner, "a zombie has ended a transaction"
        if not is_answered:
            return
        client.transaction.told = "committed" if is_commit else "aborted"
        client.transaction = self.begin(following)
        client.sequences.clear()
        client.must_abort, client.asked = False, None

    def ask_end(self, producer: Producer, is_commit: bool) -> Producer | None:
        reply = self.desk.ask(
            lambda token: self.desk.shard.end(
                ID, producer, is_commit, token, client_version=NEW, now=self.desk.moment
            )
        )
        if reply is None:
            return None
        assert isinstance(reply, EndTxnResponse)
        return Producer(reply.producer_id, reply.producer_epoch)

    @rule(client=consumes(clients))
    def die(self, client: Client) -> None:
        client.is_dead = True

    # -- the world --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.network)
    @rule(choice=st.integers(0, 1_000))
    def arrive_late(self, choice: int) -> None:
        try:
            self.network[choice % len(self.network)]()
        except ApiError:
            return

    @rule(choice=st.integers(0, 10), is_told=st.booleans())
    def write_a_marker(self, choice: int, is_told: bool) -> None:
        for ending in self.desk.endings():
            unmarked = sorted(ending.unmarked)
            chosen = (
                unmarked[choice % len(unmarked) : choice % len(unmarked) + 1] if unmarked else []
            )
            for name in chosen:
                self.places[name].mark(End(ending.producer, ending.is_commit))
            if is_told:
                self.tell(ending, chosen)

    def tell(self, ending: Ending, written: list[TopicPartition]) -> None:
        self.desk.ask(
            lambda token: self.desk.shard.marked(
                ID, ending.producer, written, token, self.desk.moment
            )
        )
        if self.desk.state not in ENDING:
            self.over.add(Producer(ending.producer.id, ending.producer.epoch - 1))

    @rule()
    def crash(self) -> None:
        self.desk.reload()

    @rule(holds=st.booleans())
    def lag(self, holds: bool) -> None:
        """What is written is committed late, or not at all if the coordinator crashes before."""
        log = self.desk.log
        log.holds = holds
        if not holds:
            log.high_watermark = log.end_offset
            list(self.desk.runtime.committed())

    @rule(ms=st.sampled_from([1, 20_000, TIMEOUT_MS]))
    def wait(self, ms: int) -> None:
        self.desk.pass_time(ms)

    @invariant()
    def each_record_stands_once(self) -> None:
        for place in self.places.values():
            values = [each.value for each in place.log if isinstance(each, Data)]
            assert len(values) == len(set(values))

    def teardown(self) -> None:
        """Everything heals; what is still open times out."""
        self.lag(False)
        for _ in range(3):
            self.wait(2 * TIMEOUT_MS)
            for ending in self.desk.endings():
                for name in ending.unmarked:
                    self.places[name].mark(End(ending.producer, ending.is_commit))
                self.tell(ending, list(ending.unmarked))
        assert self.desk.endings() == []
        visible = {value for place in self.places.values() for value in place.visible()}
        written = {
            entry.value
            for place in self.places.values()
            for entry in place.log
            if isinstance(entry, Data)
        }
        for transaction in self.sent:
            mine = transaction.values & written
            assert not mine & visible or mine <= visible, "a torn transaction"
            if transaction.told == "committed":
                assert transaction.acknowledged <= visible
            elif transaction.told == "aborted":
                assert not transaction.values & visible


# What a client may be told: it was replaced or has timed out, or the coordinator was gone or busy. INVALID_TXN_STATE is
# heard by one whose abort finds that its commit was decided before a crash; its answer was lost, and so is the client.
_EXPECTED = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.REQUEST_TIMED_OUT,
)

TestTransactions = TransactionsAgainstClients.TestCase
TestTransactions.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)
