"""Transactions over the wire, in both protocols. Every expectation was checked against Kafka 4.3.1 (KLAMM_TEST_BOOTSTRAP)."""

from collections.abc import Callable

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from klamm.protocol.messages.list_transactions import ListTransactionsRequest
from server.asking import LATEST, Topic, a_batch, a_fetch, a_produce, error, offset_at, partition_of
from server.conftest import Connect, MakeTopic
from server.transacting import (
    NONE,
    READ_COMMITTED,
    Speaker,
    committed_values,
    fetch_offset,
    find_group,
    mark,
)
from server.wire_client import WireClient

OLD_PRODUCE, ABORTABLE_PRODUCE = 10, 11
FENCED = ErrorCode.PRODUCER_FENCED
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.fixture
def speaker(client: WireClient) -> Speaker:
    speaker = Speaker(client)
    speaker.init()
    return speaker


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

    def test_the_end_may_be_asked_for_again(self, speaker: Speaker, topic: Topic) -> None:
        speaker.add(topic, 0)
        speaker.end(commit=True, version=4)

        assert error(speaker.ask_end(commit=True, version=4).error_code) is NONE
        again = speaker.ask_end(commit=False, version=4)
        assert error(again.error_code) is ErrorCode.INVALID_TXN_STATE

    def test_if_one_partition_does_not_exist_none_is_added(
        self, speaker: Speaker, topic: Topic
    ) -> None:
        assert speaker.add(topic, 0, 9) == {
            0: ErrorCode.OPERATION_NOT_ATTEMPTED,
            9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert speaker.describe().transaction_state == "Empty"


class TestErrorCodes:
    @pytest.mark.parametrize(
        ("version", "code"), [(0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (3, FENCED)]
    )
    def test_add_partitions(
        self, speaker: Speaker, topic: Topic, version: int, code: ErrorCode
    ) -> None:
        zombie = Producer(speaker.producer.id, speaker.producer.epoch + 1)

        assert speaker.add(topic, 0, version=version, producer=zombie) == {0: code}

    @pytest.mark.parametrize(("version", "code"), [(1, OLD_EPOCH), (2, FENCED), (5, FENCED)])
    def test_end(self, speaker: Speaker, version: int, code: ErrorCode) -> None:
        zombie = Producer(speaker.producer.id, speaker.producer.epoch + 1)

        answer = speaker.ask_end(commit=True, version=version, producer=zombie)

        assert error(answer.error_code) is code

    @pytest.mark.parametrize(("version", "code"), [(3, OLD_EPOCH), (4, FENCED), (5, FENCED)])
    def test_init(self, speaker: Speaker, version: int, code: ErrorCode) -> None:
        zombie = Producer(speaker.producer.id, speaker.producer.epoch + 7)

        answer = speaker.ask_init(zombie, version=version)

        assert error(answer.error_code) is code
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)

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

    @pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
    def test_a_timeout_out_of_bounds(self, client: WireClient, timeout_ms: int) -> None:
        answer = Speaker(client).ask_init(timeout_ms=timeout_ms)

        assert error(answer.error_code) is ErrorCode.INVALID_TRANSACTION_TIMEOUT

    def test_brokers_verify_without_adding(self, speaker: Speaker, make_topic: MakeTopic) -> None:
        topic = make_topic(partitions=2)
        speaker.write(topic, b"x")

        for version in (4, 5):
            assert speaker.add(topic, 0, 1, version=version, verify_only=True) == {
                0: NONE,
                1: ErrorCode.TRANSACTION_ABORTABLE,
            }
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

    def test_the_end_is_answered_again_as_before(self, speaker: Speaker, topic: Topic) -> None:
        first = speaker.producer
        speaker.write(topic, b"x")
        following = speaker.end(commit=True)

        again = speaker.ask_end(commit=True, producer=first)

        assert error(again.error_code) is NONE
        assert Producer(again.producer_id, again.producer_epoch) == following
        other = speaker.ask_end(commit=False, producer=first)
        assert error(other.error_code) is ErrorCode.INVALID_TXN_STATE

    def test_an_abort_without_a_transaction_raises_the_epoch(self, speaker: Speaker) -> None:
        before = speaker.producer

        assert speaker.end(commit=False) == Producer(before.id, before.epoch + 1)
        commit = speaker.ask_end(commit=True)
        assert error(commit.error_code) is ErrorCode.INVALID_TXN_STATE


class TestMarkers:
    """WriteTxnMarkers, as another broker or an operator sends it."""

    def test_an_operator_ends_a_transaction(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"hangs")

        assert mark(client, topic, speaker.producer, commit=False, version=1) is NONE
        assert stable_offset(client, topic) == 2
        assert committed_values(client, topic) == []

    def test_where_epochs_rise_a_marker_must_have_a_higher_epoch_than_what_is_open(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"x")
        same, higher = speaker.producer, Producer(speaker.producer.id, speaker.producer.epoch + 1)

        assert mark(client, topic, same, commit=False, transaction_version=2) is OLD_EPOCH
        assert mark(client, topic, higher, commit=False, transaction_version=2) is NONE
        # Its answer may have been lost.
        assert mark(client, topic, higher, commit=False, transaction_version=2) is NONE
        assert mark(client, topic, same, commit=False) is OLD_EPOCH

    def test_an_older_coordinator_is_fenced(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"x")
        who = speaker.producer

        assert mark(client, topic, who, commit=False, coordinator_epoch=5) is NONE
        fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert mark(client, topic, who, commit=False, coordinator_epoch=4) is fenced

    def test_a_partition_that_does_not_exist(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        code = mark(client, topic, speaker.producer, commit=True, partition=9)

        assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class TestLooking:
    def test_describe_tells_state_producer_and_partitions(
        self, speaker: Speaker, make_topic: MakeTopic
    ) -> None:
        topic = make_topic(partitions=2)
        speaker.write(topic, b"x", partition=1)

        state = speaker.describe()

        assert (state.transaction_state, state.transaction_timeout_ms) == ("Ongoing", 60_000)
        assert (state.producer_id, state.producer_epoch) == speaker.producer
        assert [(each.topic, each.partitions) for each in state.topics] == [(topic.name, [1])]
        assert state.transaction_start_time_ms > 0
        speaker.end(commit=False)

    def test_list_filters_by_state_producer_duration_and_pattern(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        idle = Speaker(client, f"{speaker.name}-idle")
        idle.init()
        speaker.write(topic, b"x")

        def found(**filters: object) -> set[str]:
            answer = client.ask(ListTransactionsRequest(**filters))
            assert answer.error_code == 0
            names = {each.transactional_id for each in answer.transaction_states}
            return {each for each in names if each.startswith(speaker.name)}

        both = {speaker.name, idle.name}
        assert found() == both
        assert found(state_filters=["Ongoing", "Dead"]) == {speaker.name}
        assert found(producer_id_filters=[idle.producer.id]) == {idle.name}
        # What has no transaction is older than any.
        assert found(duration_filter=3_600_000) == {idle.name}
        assert found(transactional_id_pattern="") == both
        unknown = client.ask(ListTransactionsRequest(state_filters=["ongoing", "Empty"]))
        assert unknown.unknown_state_filters == ["ongoing"]
        speaker.end(commit=False)

    def test_list_by_pattern(self, client: WireClient, speaker: Speaker) -> None:
        pytest.importorskip("re2")
        asked = [speaker.name, speaker.name[:-1], f"{speaker.name[:-1]}.*", "("]

        answers = [
            client.ask(ListTransactionsRequest(transactional_id_pattern=each)) for each in asked
        ]

        assert [len(each.transaction_states) for each in answers] == [1, 0, 1, 0]
        assert error(answers[3].error_code) is ErrorCode.INVALID_REGULAR_EXPRESSION

    def test_what_is_not_there(self, client: WireClient) -> None:
        nobody = Speaker(client)
        assert error(nobody.describe().error_code) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        nobody.name = ""
        assert error(nobody.describe().error_code) is ErrorCode.INVALID_REQUEST

    def test_producers_show_where_the_transaction_began(
        self, client: WireClient, speaker: Speaker, topic: Topic
    ) -> None:
        speaker.write(topic, b"x")
        asked = TopicRequest(name=topic.name, partition_indexes=[0])
        request = DescribeProducersRequest(topics=[asked])

        (open_one,) = client.ask(request).topics[0].partitions[0].active_producers
        speaker.end(commit=True)
        (ended,) = client.ask(request).topics[0].partitions[0].active_producers

        assert (open_one.current_txn_start_offset, open_one.producer_epoch) == (0, 0)
        assert (ended.current_txn_start_offset, ended.producer_epoch) == (-1, 1)
        assert (ended.last_sequence, ended.coordinator_epoch) == (-1, 0)


class TestOffsets:
    """The offsets of a group are part of the transaction as any partition is."""

    @pytest.fixture
    def group(self, client: WireClient, new_name: str) -> str:
        find_group(client, new_name)
        return new_name

    def test_they_count_when_the_transaction_commits(
        self, client: WireClient, speaker: Speaker, topic: Topic, group: str
    ) -> None:
        speaker.write(topic, b"x")
        assert speaker.commit_offset(group, topic, 5) is NONE

        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert fetch_offset(client, group, topic.name) == (unstable, -1)
        assert fetch_offset(client, group, topic.name, require_stable=False) == (NONE, -1)
        speaker.end(commit=True)

        assert fetch_offset(client, group, topic.name) == (NONE, 5)
        assert committed_values(client, topic) == [b"x"]

    def test_they_are_forgotten_when_it_aborts(
        self, client: WireClient, speaker: Speaker, topic: Topic, group: str
    ) -> None:
        assert speaker.commit_offset(group, topic, 5) is NONE
        assert speaker.describe().topics[0].topic == "__consumer_offsets"
        speaker.end(commit=False)

        assert fetch_offset(client, group, topic.name) == (NONE, -1)

    @pytest.mark.parametrize(
        ("version", "code"),
        [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)],
    )
    def test_the_old_protocol_announces_them(
        self,
        client: WireClient,
        speaker: Speaker,
        topic: Topic,
        group: str,
        version: int,
        code: ErrorCode,
    ) -> None:
        assert speaker.commit_offset(group, topic, 5, version=version) is code
        assert speaker.add_offsets(group) is NONE
        assert speaker.commit_offset(group, topic, 5, version=version) is NONE
        speaker.end(commit=True, version=4)

        assert fetch_offset(client, group, topic.name) == (NONE, 5)

    def test_a_stranger_commits_nothing(
        self, client: WireClient, speaker: Speaker, topic: Topic, group: str
    ) -> None:
        stranger = Producer(speaker.producer.id + 9_999, 0)
        unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

        assert speaker.commit_offset(group, topic, 5, producer=stranger) is unknown
        assert speaker.commit_offset(group, topic, 5, producer=stranger, version=4) is unknown
        assert fetch_offset(client, group, topic.name) == (NONE, -1)


def stable_offset(client: WireClient, topic: Topic) -> int:
    return int(partition_of(client.ask(a_fetch(topic))).last_stable_offset)
