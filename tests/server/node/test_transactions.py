"""Transactions over the wire, in both protocols. Every expectation was checked against Kafka 4.3.1 (KLAMM_TEST_BOOTSTRAP)."""

from collections.abc import Callable

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import LATEST, Topic, a_batch, a_fetch, a_produce, error, offset_at, partition_of
from server.conftest import Connect, MakeTopic
from server.transacting import (
    NONE,
    READ_COMMITTED,
    Speaker,
    committed_values,
    find_group,
    stable_offset,
)
from server.wire_client import WireClient

OLD_PRODUCE, ABORTABLE_PRODUCE = 10, 11
FENCED = ErrorCode.PRODUCER_FENCED
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


class TestVisibility:
    def test_a_transaction_is_seen_in_all_its_partitions_when_it_commits(
        self, client: WireClient, speaker: Speaker, make_topic: MakeTopic
    ) -> None:
        topic = make_topic(partitions=2)
        speaker.write(topic, b"a")
        speaker.write(topic, b"b", partition=1)

        assert [committed_values(client, topic, index) for index in (0, 1)] == [[], []]
        speaker.end(commit=True)

        assert [committed_values(client, topic, index) for index in (0, 1)] == [[b"a"], [b"b"]]

    def test_an_aborted_transaction_is_never_seen(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"dropped")
        speaker.end(commit=False)
        speaker.write(topic, b"kept")
        speaker.end(commit=True)

        assert committed_values(client, topic) == [b"kept"]

    def test_the_last_stable_offset_waits_for_the_first_open_transaction(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        other = Speaker(client)
        other.init()
        speaker.write(topic, b"first")
        other.write(topic, b"second")
        other.end(commit=True)

        assert stable_offset(client, topic) == 0
        speaker.end(commit=False)

        assert stable_offset(client, topic) == offset_at(client, topic, LATEST) == 4

    def test_a_fetch_that_waits_is_answered_when_the_transaction_ends(
        self,
        connect: Connect,
        speaker: Speaker,
        topic: Topic,
        until_parked: Callable[[], None],
    ) -> None:
        speaker.write(topic, b"x")
        reader = connect()
        reader.send(a_fetch(topic, isolation_level=READ_COMMITTED, max_wait_ms=10_000))
        until_parked()

        speaker.end(commit=True)

        assert partition_of(reader.receive()).last_stable_offset == 2

    def test_the_sequences_of_an_aborted_transaction_are_used_again(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        """Redpanda #5026: what was aborted is no reason to take the next batch for a duplicate."""
        first = speaker.write(topic, b"x", sequence=0)
        speaker.end(commit=False)

        assert speaker.write(topic, b"x", sequence=0) == first + 2
        speaker.end(commit=True)
        assert committed_values(client, topic) == [b"x"]

    def test_a_repeated_batch_of_an_open_transaction_is_answered_with_its_first_offset(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        offsets = [speaker.write(topic, b"%d" % n, sequence=n) for n in range(5)]

        assert [speaker.write(topic, b"%d" % n, sequence=n) for n in range(5)] == offsets
        speaker.end(commit=True)
        assert committed_values(client, topic) == [b"%d" % n for n in range(5)]


class TestOldProtocol:
    """transaction.version 0 and 1: partitions are announced, epochs stay."""

    def test_a_transaction_commits(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        producer = speaker.producer

        assert speaker.add(topic, 0) == {0: NONE}
        speaker.write(topic, b"a", version=OLD_PRODUCE)
        speaker.write(topic, b"b", version=OLD_PRODUCE, sequence=1)
        speaker.end(commit=True, version=4)
        speaker.add(topic, 0)
        speaker.write(topic, b"c", version=OLD_PRODUCE, sequence=2)
        speaker.end(commit=False, version=4)

        assert committed_values(client, topic) == [b"a", b"b"]
        assert speaker.describe().producer_epoch == producer.epoch

    @pytest.mark.parametrize(
        ("version", "code", "words"),
        [
            (3, ErrorCode.INVALID_TXN_STATE, None),
            (
                OLD_PRODUCE,
                ErrorCode.INVALID_TXN_STATE,
                "Partition was not added to the transaction",
            ),
            (ABORTABLE_PRODUCE, ErrorCode.TRANSACTION_ABORTABLE, None),
        ],
    )
    def test_a_partition_that_was_not_announced_takes_nothing(
        self,
        client: WireClient,
        speaker: Speaker,
        topic: Topic,
        version: int,
        code: ErrorCode,
        words: str | None,
    ) -> None:
        answer = speaker.produce(topic, version=version)

        assert (error(answer.error_code), answer.error_message) == (code, words)
        assert answer.log_start_offset == -1
        assert offset_at(client, topic, LATEST) == 0

    def test_a_late_batch_does_not_get_into_the_next_transaction(
        self, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.add(topic, 0)
        speaker.write(topic, b"a", version=ABORTABLE_PRODUCE)
        speaker.end(commit=True, version=4)

        late = speaker.produce(topic, b"late", sequence=1, version=ABORTABLE_PRODUCE)

        assert error(late.error_code) is ErrorCode.TRANSACTION_ABORTABLE


class TestErrorCodes:
    @pytest.mark.parametrize("version", [ABORTABLE_PRODUCE, 12])
    def test_produce(self, speaker: Speaker, topic: Topic, version: int) -> None:
        owner = speaker.producer

        def code(producer: Producer, name: str | None = "") -> ErrorCode:
            answer = speaker.produce(topic, producer=producer, name=name, version=version)
            return error(answer.error_code)

        assert code(Producer(owner.id, owner.epoch + 5)) is OLD_EPOCH
        unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert code(Producer(owner.id + 9_999, 0)) is unknown
        assert code(owner, "never-initialised") is unknown
        assert code(owner, None) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def test_a_batch_outside_of_the_open_transaction(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"x")
        who = speaker.producer
        outside = a_batch(b"y", producer_id=who.id, producer_epoch=who.epoch, base_sequence=1)

        answer = partition_of(client.ask(a_produce(topic, outside)))

        assert error(answer.error_code) is ErrorCode.INVALID_TXN_STATE

    def test_the_first_batch_of_an_epoch_must_be_its_first(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        answer = speaker.produce(topic, sequence=5)

        assert error(answer.error_code) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert offset_at(client, topic, LATEST) == 0
        # The partition is part of the transaction all the same.
        assert speaker.describe().topics[0].partitions == [0]


class TestZombies:
    def test_a_new_producer_fences_the_old_one_and_aborts_what_it_left(
        self, client: WireClient, connect: Connect, speaker: Speaker, make_topic: MakeTopic
    ) -> None:
        topic = make_topic(partitions=2)
        speaker.write(topic, b"left")
        owner = Speaker(connect(), speaker.name)

        answer = owner.ask_init()
        assert error(answer.error_code) is ErrorCode.CONCURRENT_TRANSACTIONS
        owner.init()

        assert owner.producer == Producer(speaker.producer.id, speaker.producer.epoch + 2)
        assert error(speaker.produce(topic, b"z", sequence=1).error_code) is OLD_EPOCH
        assert error(speaker.produce(topic, b"z", partition=1).error_code) is OLD_EPOCH
        assert speaker.add(topic, 0) == {0: FENCED}
        assert error(speaker.ask_end(commit=True).error_code) is FENCED
        find_group(client, "zombies")
        assert speaker.commit_offset("zombies", topic, 1) is OLD_EPOCH
        owner.write(topic, b"mine")
        owner.end(commit=True)
        assert committed_values(client, topic) == [b"mine"]

    def test_an_epoch_whose_transaction_is_over_never_writes_again(
        self, speaker: Speaker, make_topic: MakeTopic
    ) -> None:
        topic = make_topic(partitions=2)
        finished = speaker.producer
        speaker.write(topic, b"x")
        speaker.end(commit=True)

        for partition in (0, 1):
            late = speaker.produce(
                topic, b"late", sequence=1 - partition, partition=partition, producer=finished
            )
            assert error(late.error_code) is OLD_EPOCH
        assert speaker.add(topic, 1, producer=finished) == {1: FENCED}
