"""Metadata: brokers and topics, by name and by id. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
)
from server.asking import NO_TOPIC, Topic, append, error, fetched
from server.conftest import MakeTopic, create_topic, delete_topic, set_config
from server.wire_client import WireClient
from support.patience import eventually

VERSIONS = range(14)
BY_ID = range(12, 14)
NOT_ASKED = -(2**31)
# read, write, create, delete, alter, describe, describe configs, alter configs
TOPIC_OPERATIONS = 0b1101_1111_1000
CLUSTER_OPERATIONS = 0b1_1111_1010_0000


def ask(client: WireClient, *names: str, version: int | None = None, **request: Any) -> Any:
    asked = [MetadataRequestTopic(name=name) for name in names]
    request = {"allow_auto_topic_creation": False, **request}
    return client.ask(MetadataRequest(topics=asked, **request), version)


def ask_by_id(client: WireClient, *ids: Uuid, version: int | None = None) -> Any:
    asked = [MetadataRequestTopic(name=None, topic_id=each) for each in ids]
    return client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False), version)


def errors(response: Any) -> dict[str, ErrorCode]:
    return {topic.name: error(topic.error_code) for topic in response.topics}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_tells_broker_and_topic(
    client: WireClient, make_topic: MakeTopic, address: str, version: int
) -> None:
    topic = make_topic(2)

    answer = ask(client, topic.name, version=version)

    (broker,) = answer.brokers
    (told,) = answer.topics
    assert (broker.node_id, f"{broker.host}:{broker.port}", broker.rack) == (1, address, None)
    assert (answer.controller_id, answer.throttle_time_ms) == (1 if version >= 1 else -1, 0)
    assert (answer.cluster_id is not None) == (version >= 2)
    assert (told.error_code, told.name, told.is_internal) == (0, topic.name, False)
    assert told.topic_id == (topic.id if version >= 10 else ZERO_UUID)
    assert told.topic_authorized_operations == NOT_ASKED
    assert told.partitions == [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=1,
            leader_epoch=0 if version >= 7 else -1,
            replica_nodes=[1],
            isr_nodes=[1],
        )
        for index in range(2)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_are_an_empty_list_at_first_and_null_since(
    client: WireClient, make_topic: MakeTopic, version: int
) -> None:
    topics = {make_topic().name, make_topic().name}

    everything = client.ask(MetadataRequest(topics=None if version else []), version)

    assert topics <= errors(everything).keys()
    if version:
        assert client.ask(MetadataRequest(topics=[]), version).topics == []


@pytest.mark.parametrize("version", range(4, 14))
def test_an_unknown_topic_stays_unknown_if_the_client_wants_it_so(
    client: WireClient, new_name: str, version: int
) -> None:
    for _ in range(2):
        answer = ask(client, new_name, version=version)

        assert errors(answer) == {new_name: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_created_for_who_asks_for_it(
    client: WireClient, new_name: str, version: int
) -> None:
    first = ask(client, new_name, version=version, allow_auto_topic_creation=True)
    assert errors(first) == {new_name: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    def look() -> Any:
        (told,) = ask(client, new_name, version=version, allow_auto_topic_creation=True).topics
        assert (told.error_code, len(told.partitions)) == (0, 1)
        return told

    told = eventually(look)

    (again,) = ask(client, new_name).topics
    assert again.topic_id == (told.topic_id if version >= 10 else again.topic_id)
    topic = Topic(new_name, again.topic_id)
    assert append(client, topic, b"works") == 0
    delete_topic(client, topic)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", ".", "..", "a b", "x" * 250, "ä"])
def test_a_name_that_no_topic_can_have_is_refused(
    client: WireClient, name: str, version: int
) -> None:
    answer = ask(client, name, version=version, allow_auto_topic_creation=True)

    assert errors(answer) == {name: ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_topic_asked_for_twice_is_told_once(client: WireClient, topic: Topic) -> None:
    assert len(ask(client, topic.name, topic.name).topics) == 1


def test_known_and_unknown_topics_are_told_side_by_side(
    client: WireClient, topic: Topic, new_name: str
) -> None:
    assert errors(ask(client, topic.name, new_name, "a b")) == {
        topic.name: ErrorCode.NONE,
        new_name: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


@pytest.mark.parametrize("version", BY_ID)
def test_topics_are_found_by_id(client: WireClient, topic: Topic, version: int) -> None:
    (told,) = ask_by_id(client, topic.id, version=version).topics

    assert (told.error_code, told.name, told.topic_id) == (0, topic.name, topic.id)


@pytest.mark.parametrize("version", BY_ID)
def test_an_unknown_id_has_no_name(client: WireClient, version: int) -> None:
    (told,) = ask_by_id(client, NO_TOPIC.id, version=version).topics

    assert (told.error_code, told.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
    assert told.topic_id == NO_TOPIC.id


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic_id", [ZERO_UUID, NO_TOPIC.id])
def test_ids_have_a_field_before_they_can_be_asked_for(
    client: WireClient, topic_id: Uuid, version: int
) -> None:
    answer = ask_by_id(client, topic_id, version=version)

    assert [told.error_code for told in answer.topics] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", range(8, 14))
def test_operations_are_told_on_demand(
    client: WireClient, topic: Topic, new_name: str, version: int
) -> None:
    answer = ask(
        client,
        topic.name,
        new_name,
        version=version,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )

    told = {each.name: each.topic_authorized_operations for each in answer.topics}
    assert told == {topic.name: TOPIC_OPERATIONS, new_name: TOPIC_OPERATIONS}
    cluster = CLUSTER_OPERATIONS if version <= 10 else NOT_ASKED
    assert answer.cluster_authorized_operations == cluster


# -- answers are kept encoded: they must not outlive what they tell -----------------------------------------------------


def test_an_answer_that_was_given_before_changes_with_the_topic(
    client: WireClient, topic: Topic
) -> None:
    assert [len(told.partitions) for told in ask(client, topic.name).topics] == [1]

    more = CreatePartitionsTopic(name=topic.name, count=3, assignments=None)
    client.ask(CreatePartitionsRequest(topics=[more], timeout_ms=10_000))

    def look() -> None:
        assert [len(told.partitions) for told in ask(client, topic.name).topics] == [3]

    eventually(look)


def test_an_answer_that_was_given_before_ends_with_the_topic(
    client: WireClient, topic: Topic
) -> None:
    assert errors(ask(client, topic.name)) == {topic.name: ErrorCode.NONE}

    delete_topic(client, topic)

    def look() -> None:
        gone = {topic.name: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert errors(ask(client, topic.name)) == gone

    eventually(look)


def test_a_topic_made_again_has_a_new_id_in_the_next_answer(
    client: WireClient, make_topic: MakeTopic
) -> None:
    old = make_topic(2)
    ask(client, old.name)
    delete_topic(client, old)
    new = create_topic(client, old.name, 1)

    (told,) = ask(client, old.name).topics

    assert old.id != new.id == told.topic_id
    assert len(told.partitions) == 1
    (by_old_id,) = ask_by_id(client, old.id).topics
    assert by_old_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_config_change_leaves_the_answer_right(client: WireClient, topic: Topic) -> None:
    before = ask(client, topic.name)

    set_config(client, topic, "retention.ms", "1000")

    assert ask(client, topic.name) == before
    assert fetched(client, topic) == []
