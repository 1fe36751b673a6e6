"""CreateTopics: what is answered, and that the topic can be used at once. Expectations hold for Apache Kafka 4.3.1."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from server.asking import Topic, append, fetched
from server.conftest import delete_topic, wait_for_leaders
from server.wire_client import WireClient


def a_topic(
    name: str, partitions: int = 1, replication_factor: int = 1, **config: str
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in config.items()
        ],
    )


def create(
    client: WireClient, *topics: CreatableTopic, version: int | None = None, dry: bool = False
) -> list[Any]:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=dry)
    return list(client.ask(request, version).topics)


def exists(client: WireClient, name: str) -> bool:
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )
    return bool(client.ask(asked).topics[0].error_code == 0)


@pytest.mark.parametrize("version", range(2, 8))
def test_each_version_makes_a_topic_that_can_be_used(
    client: WireClient, new_name: str, version: int
) -> None:
    (made,) = create(client, a_topic(new_name, 2, retention_ms="1000"), version=version)

    assert (made.error_code, made.name, made.error_message) == (0, new_name, None)
    if version >= 5:
        told = {each.name: (each.value, each.config_source) for each in made.configs}
        assert (made.num_partitions, made.replication_factor) == (2, 1)
        assert told["retention.ms"] == ("1000", 1)
    if version < 7:
        assert made.topic_id == ZERO_UUID
    wait_for_leaders(client, new_name, 2)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=new_name)])
    topic = Topic(new_name, client.ask(asked).topics[0].topic_id)
    assert append(client, topic, b"works", partition=1) == 0
    assert fetched(client, topic, partition=1) == [b"works"]
    delete_topic(client, topic)


def test_minus_one_means_the_brokers_default(client: WireClient, new_name: str) -> None:
    (made,) = create(client, a_topic(new_name, -1, -1))

    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 1, 1)
    delete_topic(client, Topic(new_name, made.topic_id))


REFUSED: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "no partitions": ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
    "no replicas": ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
    "more replicas than brokers": (
        {"replication_factor": 2},
        ErrorCode.INVALID_REPLICATION_FACTOR,
    ),
    "an unknown config": ({"nonsense": "1"}, ErrorCode.INVALID_CONFIG),
    "a config that is no number": ({"retention_ms": "abc"}, ErrorCode.INVALID_CONFIG),
    "a config that is too small": ({"segment_bytes": "1"}, ErrorCode.INVALID_CONFIG),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_a_reason(
    client: WireClient, new_name: str, what: str
) -> None:
    wrong, code = REFUSED[what]

    (refused,) = create(client, a_topic(new_name, **wrong))

    assert refused.error_code == code
    assert refused.error_message
    assert not exists(client, new_name)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "x" * 250])
def test_a_name_that_no_topic_can_have_is_refused(client: WireClient, name: str) -> None:
    (refused,) = create(client, a_topic(name))

    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_is_made_once(client: WireClient, topic: Topic) -> None:
    (refused,) = create(client, a_topic(topic.name))

    assert refused.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_good_and_bad_topics_are_judged_one_by_one(client: WireClient, new_name: str) -> None:
    good, bad = create(client, a_topic(new_name), a_topic("a b"))

    assert (good.error_code, bad.error_code) == (0, ErrorCode.INVALID_TOPIC_EXCEPTION)
    delete_topic(client, Topic(new_name, good.topic_id))


def test_a_trial_makes_nothing(client: WireClient, new_name: str) -> None:
    (tried,) = create(client, a_topic(new_name), dry=True)

    assert tried.error_code == 0
    assert not exists(client, new_name)


@pytest.mark.parametrize(
    ("brokers", "code"),
    [
        ([1], ErrorCode.NONE),
        ([7], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_replicas_can_be_placed_by_hand(
    client: WireClient, new_name: str, brokers: list[int], code: ErrorCode
) -> None:
    wanted = a_topic(new_name, -1, -1)
    wanted.assignments = [CreatableReplicaAssignment(partition_index=0, broker_ids=brokers)]

    (made,) = create(client, wanted)

    assert made.error_code == code
    if not made.error_code:
        delete_topic(client, Topic(new_name, made.topic_id))
