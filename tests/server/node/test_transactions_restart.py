"""Transactions across stops, failures and time: nodes of their own, that the tests may stop and look into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import State
from klamm.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from klamm.protocol.records.batch import batches
from klamm.protocol.records.reader import read_records
from klamm.server.coordination.internal_topics import TRANSACTIONS_TOPIC
from server.asking import Topic, error
from server.conftest import create_topic, delete_topic
from server.running_node import RunningNode
from server.transacting import (
    NONE,
    Speaker,
    committed_values,
    fetch_offset,
    find_group,
)
from server.wire_client import WireClient
from support.patience import eventually

_SAFE_DOWNGRADE = 2
FEW = {
    "transaction.state.log.num.partitions": 3,
    "offsets.topic.num.partitions": 3,
}


class House:
    """A node that can be stopped and started again, and one client of it."""

    def __init__(self, data: Path, **settings: object) -> None:
        self._data = data
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.start()

    def start(self, **settings: object) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.node = RunningNode(self._data, {**FEW, **self._settings, **named})
        self.client = WireClient(self.node.address)

    def stop(self) -> None:
        self.client.close()
        self.node.stop()

    def restart(self, **settings: object) -> None:
        self.stop()
        self.start(**settings)

    def again(self, speaker: Speaker) -> Speaker:
        """The same producer, on a new connection."""
        back = Speaker(self.client, speaker.name)
        back.producer = speaker.producer
        return back

    def lead(self, topic: Topic, *, is_leader: bool) -> None:
        """As if the partition had another leader, which nobody can reach; or back again."""

        def act() -> None:
            partition = self.node.node.broker.replicas.find(topic.name, 0)
            assert partition is not None
            partition.is_leader = is_leader

        self.node.call(act)

    def state(self, speaker: Speaker) -> State:
        def look() -> State:
            (found,) = (
                shard.transactions[speaker.name]
                for shard in self.node.node.broker.transactions.shards()
                if speaker.name in shard.transactions
            )
            return found.state

        return self.node.call(look)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.stop()


def a_speaker(house: House, **init: int) -> Speaker:
    speaker = Speaker(house.client)
    speaker.init(**init)
    return speaker


def test_an_open_transaction_goes_on_after_a_restart(house: House) -> None:
    topic = create_topic(house.client, "t")
    speaker = a_speaker(house)
    speaker.write(topic, b"before")

    house.restart()
    speaker = house.again(speaker)
    speaker.write(topic, b"after", sequence=1)
    assert committed_values(house.client, topic) == []
    speaker.end(commit=True)

    assert committed_values(house.client, topic) == [b"before", b"after"]


def test_a_finished_epoch_stays_finished_after_a_restart(house: House) -> None:
    topic = create_topic(house.client, "t", 2)
    speaker = a_speaker(house)
    finished = speaker.producer
    speaker.write(topic, b"x")
    speaker.end(commit=True)

    house.restart()
    speaker = house.again(speaker)

    for partition in (0, 1):
        late = speaker.produce(topic, b"late", producer=finished, partition=partition)
        assert error(late.error_code) is ErrorCode.INVALID_PRODUCER_EPOCH
    again = speaker.ask_end(commit=True, producer=finished)
    assert Producer(again.producer_id, again.producer_epoch) == speaker.producer


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_markers_that_could_not_be_written_are_written_after_a_restart(
    house: House, commit: bool
) -> None:
    stuck, free = create_topic(house.client, "stuck"), create_topic(house.client, "free")
    speaker = a_speaker(house)
    speaker.write(stuck, b"a")
    speaker.write(free, b"b")
    house.lead(stuck, is_leader=False)

    answer = speaker.ask_end(commit=commit)
    assert error(answer.error_code) is NONE
    assert house.state(speaker) is (State.PREPARE_COMMIT if commit else State.PREPARE_ABORT)
    # The decision is made: it can be asked for again, and nothing else can be.
    again = speaker.ask_end(commit=commit)
    assert error(again.error_code) is ErrorCode.CONCURRENT_TRANSACTIONS
    other = speaker.ask_end(commit=not commit)
    assert error(other.error_code) is ErrorCode.INVALID_TXN_STATE
    assert error(speaker.ask_init().error_code) is ErrorCode.CONCURRENT_TRANSACTIONS

    house.restart()

    eventually(lambda: house.again(speaker).until("CompleteCommit" if commit else "CompleteAbort"))
    assert committed_values(house.client, stuck) == ([b"a"] if commit else [])
    assert committed_values(house.client, free) == ([b"b"] if commit else [])


def test_markers_are_sent_again_until_they_are_written(house: House) -> None:
    topic = create_topic(house.client, "t")
    speaker = a_speaker(house)
    speaker.write(topic, b"a")
    house.lead(topic, is_leader=False)
    speaker.ask_end(commit=True)
    assert house.state(speaker) is State.PREPARE_COMMIT

    house.lead(topic, is_leader=True)

    speaker.until("CompleteCommit")
    assert committed_values(house.client, topic) == [b"a"]


def test_a_coordinator_that_is_loaded_anew_takes_the_stuck_markers_over(house: House) -> None:
    topic = create_topic(house.client, "t")
    speaker = a_speaker(house)
    speaker.write(topic, b"a")
    house.lead(topic, is_leader=False)
    speaker.ask_end(commit=True)

    def load_anew() -> None:
        transactions = house.node.node.broker.transactions
        transactions._reload(transactions.partition_of(speaker.name))

    house.node.call(load_anew)
    house.lead(topic, is_leader=True)

    speaker.until("CompleteCommit")
    assert committed_values(house.client, topic) == [b"a"]


def test_while_markers_are_stuck_the_next_transaction_waits(house: House) -> None:
    topic, other = create_topic(house.client, "t"), create_topic(house.client, "other")
    speaker = a_speaker(house)
    speaker.write(topic, b"a")
    house.lead(topic, is_leader=False)
    ended = speaker.ask_end(commit=True)
    speaker.producer = Producer(ended.producer_id, ended.producer_epoch)

    answer = speaker.produce(other, b"b")

    # Kafka's word for "send it again"; it tries for add.partitions.to.txn.retry.backoff.max.ms itself.
    assert error(answer.error_code) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert answer.error_message.endswith("Underlying error: CONCURRENT_TRANSACTIONS")
    house.lead(topic, is_leader=True)
    eventually(lambda: speaker.write(other, b"b"))
    speaker.end(commit=True)
    assert committed_values(house.client, other) == [b"b"]


def test_a_produce_waits_for_the_markers_of_the_transaction_before(tmp_path: Path) -> None:
    house = House(tmp_path / "data", add_partitions_to_txn_retry_backoff_max_ms=20_000)
    try:
        topic, other = create_topic(house.client, "t"), create_topic(house.client, "other")
        speaker = a_speaker(house)
        speaker.write(topic, b"a")
        house.lead(topic, is_leader=False)
        ended = speaker.ask_end(commit=True)
        speaker.producer = Producer(ended.producer_id, ended.producer_epoch)
        house.node.call(lambda: house.node._loop.call_later(0.1, lambda: _lead_again(house)))

        speaker.write(other, b"b")

        speaker.end(commit=True)
        assert committed_values(house.client, other) == [b"b"]
    finally:
        house.stop()


def _lead_again(house: House) -> None:
    partition = house.node.node.broker.replicas.find("t", 0)
    assert partition is not None
    partition.is_leader = True


def test_a_topic_that_is_deleted_needs_no_marker(house: House) -> None:
    kept, gone = create_topic(house.client, "kept"), create_topic(house.client, "gone")
    speaker = a_speaker(house)
    speaker.write(kept, b"a")
    speaker.write(gone, b"b")
    delete_topic(house.client, gone)

    speaker.end(commit=True)

    assert committed_values(house.client, kept) == [b"a"]


def test_offsets_of_an_open_transaction_survive_a_restart(house: House) -> None:
    topic = create_topic(house.client, "t")
    find_group(house.client, "g")
    speaker = a_speaker(house)
    assert speaker.commit_offset("g", topic, 7) is NONE

    house.restart()
    find_group(house.client, "g")
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert fetch_offset(house.client, "g", topic.name) == (unstable, -1)
    house.again(speaker).end(commit=True)

    assert fetch_offset(house.client, "g", topic.name) == (NONE, 7)


def test_a_transaction_over_time_is_aborted_and_its_producer_fenced(tmp_path: Path) -> None:
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    house = House(tmp_path / "data", **{interval: 20})
    try:
        topic = create_topic(house.client, "t")
        speaker = a_speaker(house, timeout_ms=50)
        speaker.write(topic, b"x")

        speaker.until("CompleteAbort")

        assert committed_values(house.client, topic) == []
        answer = speaker.produce(topic, b"y", sequence=1)
        assert error(answer.error_code) is ErrorCode.INVALID_PRODUCER_EPOCH
        commit = speaker.ask_end(commit=True)
        assert error(commit.error_code) is ErrorCode.INVALID_TXN_STATE
        # The producer may go on, with the epoch after the abort (KIP-588).
        back = speaker.ask_init(speaker.producer)
        assert (error(back.error_code), back.producer_epoch) == (NONE, 1)
    finally:
        house.stop()


def test_an_unused_id_is_forgotten_for_good(tmp_path: Path) -> None:
    interval = "transaction.remove.expired.transaction.cleanup.interval.ms"
    house = House(tmp_path / "data", **{interval: 20, "transactional.id.expiration.ms": 1})
    try:
        speaker = a_speaker(house)

        def look() -> None:
            missing = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            assert error(speaker.describe().error_code) is missing

        eventually(look)
        house.restart()
        back = Speaker(house.client, speaker.name)
        assert error(back.describe().error_code) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        assert back.init().id != speaker.producer.id
    finally:
        house.stop()


def test_without_verification_old_clients_write_what_they_did_not_announce(tmp_path: Path) -> None:
    switch = "transaction.partition.verification.enable"
    house = House(tmp_path / "data", **{switch: "false"})
    try:
        topic = create_topic(house.client, "t")
        speaker = a_speaker(house)

        assert speaker.write(topic, b"x", version=10) == 0
        find_group(house.client, "g")
        assert speaker.commit_offset("g", topic, 5, version=3) is NONE
        speaker.ask_end(commit=False)
        # The offsets were not announced, so nobody has ended them; but an older epoch is refused all the same.
        older = Producer(speaker.producer.id, -1)
        code = speaker.commit_offset("g", topic, 5, version=3, producer=older)
        assert code is ErrorCode.INVALID_PRODUCER_EPOCH
        # For new clients the question is how their partitions come into the transaction at all.
        assert error(speaker.produce(topic, producer=Producer(99, 0)).error_code) is (
            ErrorCode.INVALID_PRODUCER_ID_MAPPING
        )
    finally:
        house.stop()


def test_on_a_cluster_of_transaction_version_0_epochs_stay_and_old_brokers_could_read_on(
    house: House,
) -> None:
    change = FeatureUpdateKey(
        feature="transaction.version", max_version_level=0, upgrade_type=_SAFE_DOWNGRADE
    )
    changed = house.client.ask(UpdateFeaturesRequest(feature_updates=[change], timeout_ms=10_000))
    assert changed.error_code == 0, changed
    topic = create_topic(house.client, "t")
    speaker = a_speaker(house)
    for value in (b"a", b"b"):
        speaker.add(topic, 0)
        speaker.write(topic, value, version=10, sequence=0 if value == b"a" else 1)
        speaker.end(commit=True, version=4)
    assert speaker.describe().producer_epoch == speaker.producer.epoch

    # A new producer raises the epoch once to abort, and once more for itself.
    speaker.add(topic, 0)
    speaker.write(topic, b"c", version=10, sequence=2)
    owner = Speaker(house.client, speaker.name)
    owner.init()
    assert owner.producer == Producer(speaker.producer.id, speaker.producer.epoch + 2)

    house.restart()
    assert house.again(owner).describe().producer_epoch == owner.producer.epoch
    assert committed_values(house.client, topic) == [b"a", b"b"]
    assert value_versions(house) == {0}


def value_versions(house: House) -> set[int]:
    """The versions of the values in __transaction_state, since the feature was changed."""

    def look() -> set[int]:
        found: set[int] = set()
        for index in range(3):
            partition = house.node.node.broker.replicas.find(TRANSACTIONS_TOPIC, index)
            assert partition is not None
            data = partition.log.read(0, 1 << 20, up_to=partition.high_watermark)
            if data is not None:
                for _, batch in batches(memoryview(data.read())):
                    found |= {int.from_bytes(each.value[:2], "big") for each in read_records(batch)}
        return found

    return house.node.call(look)
