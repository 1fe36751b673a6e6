"""Transactions that one broker begins and the other ends: committed, aborted, taken over, overdue, half decided.

Each has records in two partitions and an offset of a group. All of it counts, or nothing.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from klamm.base.errors import ErrorCode
from klamm.coordinator.placement import partition_of
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.transaction import TransactionLogKey, TransactionLogValue
from klamm.coordinator.transaction.records import FRAMING
from klamm.coordinator.transaction.states import State
from klamm.protocol.records.batch import batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records
from support.kafka_jars import java_tool
from support.patience import eventually
from twoway.asking import PATIENCE_SECONDS, STILL_ENDING, TRANSACTION, Asking
from twoway.handover import BROKERS, CHANGES, PATIENT, Handover, Scene, SceneT
from twoway.home import SETTINGS
from twoway.writing import AN_HOUR_AGO

pytestmark = pytest.mark.oracle

PARTITIONS = 2
# What the group has committed before, and what it commits in the transaction.
OFFSET_BEFORE, OFFSET_WITHIN = 3, 7
NEVER_MS, SOON_MS = 900_000, 4_000


class RawProducer:
    """A transactional producer of transaction.version 2, request by request."""

    def __init__(self, asking: Asking, name: str, timeout_ms: int = NEVER_MS) -> None:
        self.name = name
        asking.find_coordinator(name, TRANSACTION)
        answer = asking.ask(
            "init_producer_id",
            5,
            STILL_ENDING,
            transactional_id=name,
            transaction_timeout_ms=timeout_ms,
        )
        assert answer["error_code"] == 0, answer
        self.id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        self._sequences = [0] * PARTITIONS

    def produce(self, asking: Asking, topic: str, values: Sequence[bytes]) -> None:
        for partition in range(PARTITIONS):
            batch = build_batch(
                [Record(timestamp=AN_HOUR_AGO, value=value) for value in values],
                producer_id=self.id,
                producer_epoch=self.epoch,
                base_sequence=self._sequences[partition],
                transactional=True,
            )
            self._sequences[partition] += len(values)
            data = [{"index": partition, "records": bytes(batch)}]
            answer = asking.ask(
                "produce",
                12,
                STILL_ENDING,
                transactional_id=self.name,
                acks=-1,
                timeout_ms=10_000,
                topic_data=[{"name": topic, "partition_data": data}],
            )
            (done,) = answer["responses"][0]["partition_responses"]
            assert done["error_code"] == 0, answer

    def commit_offset(self, asking: Asking, group: str, topic: str, offset: int) -> None:
        at = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "within"}
        answer = asking.ask(
            "txn_offset_commit",
            5,
            STILL_ENDING,
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[{"name": topic, "partitions": [at]}],
        )
        (done,) = answer["topics"][0]["partitions"]
        assert done["error_code"] == 0, answer

    def end(self, asking: Asking, *, is_commit: bool) -> ErrorCode:
        answer = asking.ask(
            "end_txn",
            5,
            STILL_ENDING,
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=is_commit,
        )
        error = ErrorCode(answer["error_code"])
        if error is ErrorCode.NONE:
            if answer["producer_epoch"] != self.epoch:
                self._sequences = [0] * PARTITIONS
            self.id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return error


class NoMarkers(AssertionError):
    """The transaction is complete, but in some partition it is still open."""


class TransactionScene(Scene):
    """An open transaction at the first broker; how it ends is the scene's own matter."""

    timeout_ms: ClassVar[int] = NEVER_MS
    # What a committed reader gets of each partition when all is over, and the group's offset.
    values: list[list[bytes]]
    offset: tuple[Any, ...]

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking, partitions=PARTITIONS)
        self.write(asking, self.topic, range(OFFSET_BEFORE))
        asking.commit(self.name, self.topic, OFFSET_BEFORE)
        self.begin(asking)
        self.seen_before = self.look(asking)

    def begin(self, asking: Asking) -> None:
        self.producer = RawProducer(asking, self.name, self.timeout_ms)
        self.producer.produce(asking, self.topic, [b"one", b"two"])
        self.producer.commit_offset(asking, self.name, self.topic, OFFSET_WITHIN)

    def look(self, asking: Asking) -> dict[str, Any]:
        """How the open transaction looks from outside."""
        return {
            "transaction": asking.transaction(self.name),
            "ends": [asking.ends(self.topic, each) for each in range(PARTITIONS)],
            "offsets": asking.offsets(self.name),
            "stable offsets": asking.offsets(self.name, is_stable=True),
        }

    def after(self, asking: Asking) -> None:
        self.seen_after = self.look(asking)
        self.end(asking)
        self.wait_for_the_end(asking)
        self.take_stock(asking)

    def take_stock(self, asking: Asking) -> None:
        self.values = [self.read(asking, each) for each in range(PARTITIONS)]
        offset, _, text, error = asking.offsets(self.name, is_stable=True)[self.topic, 0]
        self.offset = offset, text, error

    def end(self, asking: Asking) -> None:
        """What the client does at the second broker."""

    def wait_for_the_end(self, asking: Asking) -> None:
        def look() -> None:
            assert asking.state(self.name) in ("CompleteCommit", "CompleteAbort")

        eventually(look, seconds=PATIENCE_SECONDS)
        ends = [asking.ends(self.topic, partition) for partition in range(PARTITIONS)]
        if any(stable != end for stable, end in ends):
            raise NoMarkers(f"{self.name} is over, but its records are not: {ends}")

    def read(self, asking: Asking, partition: int) -> list[bytes]:
        """All that is committed."""
        options = {"group.id": "reader", "enable.partition.eof": True, **PATIENT}
        consumer = Consumer({"bootstrap.servers": asking.address, **options})
        consumer.assign([TopicPartition(self.topic, partition, 0)])
        found: list[bytes] = []
        try:
            while message := consumer.poll(PATIENCE_SECONDS):
                error, value = message.error(), message.value()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    return found
                assert value is not None
                found.append(value)
        finally:
            consumer.close()
        raise AssertionError(f"{self.topic}-{partition} has no end")


class RawCommit(TransactionScene):
    title = "raw-commit"
    is_commit: ClassVar[bool] = True

    def end(self, asking: Asking) -> None:
        self.producer.produce(asking, self.topic, [b"three"])
        assert self.producer.end(asking, is_commit=self.is_commit) is ErrorCode.NONE
        self.producer.produce(asking, self.topic, [b"later"])
        assert self.producer.end(asking, is_commit=True) is ErrorCode.NONE


class RawAbort(RawCommit):
    title = "raw-abort"
    is_commit = False


class LiveCommit(TransactionScene):
    """The same with librdkafka, which lives on between the brokers."""

    title = "live-commit"
    is_commit: ClassVar[bool] = True

    def begin(self, asking: Asking) -> None:
        options: dict[str, str | int] = {
            "transactional.id": self.name,
            "transaction.timeout.ms": NEVER_MS,
            "linger.ms": 0,
        }
        self.live = Producer({"bootstrap.servers": asking.address, **options, **PATIENT})
        self.group = Consumer(
            {"bootstrap.servers": asking.address, "group.id": self.name, **PATIENT}
        )
        self.clients.callback(self.group.close)
        self.live.init_transactions(PATIENCE_SECONDS)
        self.live.begin_transaction()
        self._produce(b"one", b"two")
        self._commit_offset()

    def _commit_offset(self) -> None:
        at = TopicPartition(self.topic, 0, OFFSET_WITHIN, metadata="within")
        member = self.group.consumer_group_metadata()
        self.live.send_offsets_to_transaction([at], member, PATIENCE_SECONDS)

    def _produce(self, *values: bytes) -> None:
        for value in values:
            for partition in range(PARTITIONS):
                self.live.produce(self.topic, value, partition=partition)
        assert self.live.flush(PATIENCE_SECONDS) == 0

    def end(self, asking: Asking) -> None:
        self._produce(b"three")
        if self.is_commit:
            self.live.commit_transaction(PATIENCE_SECONDS)
        else:
            self.live.abort_transaction(PATIENCE_SECONDS)
        self.live.begin_transaction()
        self._produce(b"later")
        self.live.commit_transaction(PATIENCE_SECONDS)


class LiveAbort(LiveCommit):
    title = "live-abort"
    is_commit = False


class Takeover(TransactionScene):
    """At the second broker another producer comes with the same id."""

    title = "takeover"

    def end(self, asking: Asking) -> None:
        second = RawProducer(asking, self.name)
        self.answer_to_the_first = self.producer.end(asking, is_commit=True)
        second.produce(asking, self.topic, [b"second"])
        assert second.end(asking, is_commit=True) is ErrorCode.NONE


class PreparedCommit(TransactionScene):
    """The first broker dies when it has written its decision, but no marker and no answer yet."""

    title = "prepared-commit"
    state: ClassVar[State] = State.PREPARE_COMMIT

    def between(self, home: Path) -> None:
        count = int(str(SETTINGS["transaction.state.log.num.partitions"]))
        folder = home / "data" / f"__transaction_state-{partition_of(self.name, count)}"
        decision = self._newest(folder)
        assert decision.transaction_status == State.ONGOING
        decision.transaction_status = self.state
        decision.producer_epoch += 1
        decision.previous_producer_id = decision.producer_id
        _append(
            folder, CoordinatorRecord(TransactionLogKey(transactional_id=self.name), decision, 1)
        )

    def _newest(self, folder: Path) -> TransactionLogValue:
        """What the log says of the transaction."""
        records = (
            FRAMING.decode(record.key or b"", record.value)
            for path in sorted(folder.glob("*.log"))
            for header, data in batches(path.read_bytes())
            for record in ([] if header.is_control else read_records(data))
        )
        *_, last = (
            each
            for each in records
            if each and each.key == TransactionLogKey(transactional_id=self.name)
        )
        assert isinstance(last.value, TransactionLogValue)
        return last.value

    def after(self, asking: Asking) -> None:
        # The second broker does not wait for anybody.
        self.wait_for_the_end(asking)
        self.take_stock(asking)
        # The client, which has heard nothing, asks again.
        epoch = self.producer.epoch
        self.answer = self.producer.end(asking, is_commit=self.state is State.PREPARE_COMMIT)
        self.epochs = self.producer.epoch - epoch


class PreparedAbort(PreparedCommit):
    title = "prepared-abort"
    state = State.PREPARE_ABORT


class Overdue(TransactionScene):
    """Its time is up when the second broker has it."""

    title = "overdue"
    timeout_ms = SOON_MS

    def after(self, asking: Asking) -> None:
        self.wait_for_the_end(asking)
        self.state = asking.state(self.name)
        self.take_stock(asking)
        self.answer = self.producer.end(asking, is_commit=True)


OPEN = (RawCommit, RawAbort, LiveCommit, LiveAbort, Takeover)
# The overdue one is the last to begin: its time must not be up before the first broker ends.
CAST = (*OPEN, PreparedCommit, PreparedAbort, Overdue)

OUTSIDE = [b"%d" % number for number in range(OFFSET_BEFORE)]
BEFORE = (OFFSET_BEFORE, "", ErrorCode.NONE)
WITHIN = (OFFSET_WITHIN, "within", ErrorCode.NONE)


def _append(folder: Path, record: CoordinatorRecord) -> None:
    """Behind what the broker wrote, as it would have done."""
    paths = sorted(folder.glob("*.log"))
    *_, last = (header for path in paths for header, _ in batches(path.read_bytes()))
    key, value = FRAMING.encode(record)
    batch = build_batch(
        [Record(timestamp=last.max_timestamp, key=key, value=value)],
        base_offset=max(last.last_offset + 1, int(paths[-1].stem)),
        leader_epoch=last.leader_epoch,
    )
    with open(paths[-1], "ab") as log:
        log.write(batch)


@pytest.fixture(scope="module")
def handover(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handover]:
    path = tmp_path_factory.mktemp("transactions")
    yield Handover(path, CAST)
    shutil.rmtree(path)


@pytest.fixture(params=CHANGES.values(), ids=list(CHANGES))
def change(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def carried_out(handover: Handover, change: int, kind: type[SceneT]) -> SceneT:
    """A scene in which the second broker has to end a transaction when it starts.

    Kafka sends markers to itself, and when its listener is late it may complete a transaction without them. It does so
    with directories that no other broker ever had, too.
    """
    failure = handover.played[change, kind].failure
    if isinstance(failure, NoMarkers) and BROKERS[change + 1] == "kafka":
        pytest.skip(f"Kafka lost its own markers: {failure}")
    return handover.scene(change, kind)


@pytest.mark.parametrize("kind", OPEN, ids=lambda kind: str(kind.title))
def test_open_transaction_is_shown_as_the_last_broker_showed_it(
    handover: Handover, change: int, kind: type[TransactionScene]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.seen_after == scene.seen_before
    assert scene.seen_after["transaction"]["transaction_state"] == "Ongoing"
    (_, _, _, error) = scene.seen_after["stable offsets"][scene.topic, 0]
    assert error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert all(stable < end for stable, end in scene.seen_after["ends"])


@pytest.mark.parametrize("kind", [RawCommit, LiveCommit])
def test_transaction_is_committed_at_the_next_broker(
    handover: Handover, change: int, kind: type[TransactionScene]
) -> None:
    scene = handover.scene(change, kind)

    within = [b"one", b"two", b"three", b"later"]
    assert scene.values == [OUTSIDE + within, within]
    assert scene.offset == WITHIN


@pytest.mark.parametrize("kind", [RawAbort, LiveAbort])
def test_transaction_is_aborted_at_the_next_broker(
    handover: Handover, change: int, kind: type[TransactionScene]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.values == [[*OUTSIDE, b"later"], [b"later"]]
    assert scene.offset == BEFORE


def test_producer_of_the_last_broker_is_fenced_by_its_successor(
    handover: Handover, change: int
) -> None:
    scene = handover.scene(change, Takeover)

    assert scene.answer_to_the_first is ErrorCode.PRODUCER_FENCED
    assert scene.values == [[*OUTSIDE, b"second"], [b"second"]]
    assert scene.offset == BEFORE


def test_decision_to_commit_is_carried_out_by_the_next_broker(
    handover: Handover, change: int
) -> None:
    scene = carried_out(handover, change, PreparedCommit)

    assert scene.values == [[*OUTSIDE, b"one", b"two"], [b"one", b"two"]]
    assert scene.offset == WITHIN


def test_decision_to_abort_is_carried_out_by_the_next_broker(
    handover: Handover, change: int
) -> None:
    scene = carried_out(handover, change, PreparedAbort)

    assert scene.values == [OUTSIDE, []]
    assert scene.offset == BEFORE


@pytest.mark.parametrize("kind", [PreparedCommit, PreparedAbort])
def test_client_that_heard_no_answer_gets_it_from_the_next_broker(
    handover: Handover, change: int, kind: type[PreparedCommit]
) -> None:
    scene = carried_out(handover, change, kind)

    assert (scene.answer, scene.epochs) == (ErrorCode.NONE, 1)


def test_overdue_transaction_is_aborted_by_the_next_broker(handover: Handover, change: int) -> None:
    scene = carried_out(handover, change, Overdue)

    assert scene.seen_before["transaction"]["transaction_state"] == "Ongoing"
    assert scene.state == "CompleteAbort"
    assert scene.values == [OUTSIDE, []]
    assert scene.offset == BEFORE
    assert scene.answer is ErrorCode.INVALID_TXN_STATE


def test_every_broker_compacted_what_the_others_wrote(handover: Handover) -> None:
    far = [clean["__transaction_state"] for clean in handover.clean_up_to]

    assert far == sorted(set(far))
    assert far[0] > 0


def test_kafkas_tool_reads_every_record_of_the_transactions(handover: Handover) -> None:
    files = sorted(map(str, handover.data.glob("__transaction_state-*/*.log")))
    printed = java_tool("DumpLogSegments", "--transaction-log-decoder", "--files", ",".join(files))

    records = [line for line in printed.splitlines() if line.startswith("| offset:")]
    assert len(records) > len(CAST)
    assert all('key: {"type":"0"' in record for record in records)
    assert "skipping" not in printed


def test_neither_broker_finds_anything_to_complain_about(handover: Handover) -> None:
    # The producer whose time was up asked for a commit.
    late = re.compile("overdue-.*'s state is COMPLETE_ABORT, but received .* COMMIT")

    assert [each for each in handover.complaints if not late.search(each)] == []
