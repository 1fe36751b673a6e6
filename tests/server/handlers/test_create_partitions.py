"""CreatePartitions: more, never fewer. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from server.asking import NO_TOPIC, Topic, append, fetched
from server.conftest import MakeTopic, wait_for_leaders
from server.wire_client import WireClient


def grow(
    client: WireClient,
    topic: Topic,
    count: int,
    *,
    brokers: list[int] | None = None,
    version: int | None = None,
    dry: bool = False,
) -> Any:
    placed = None if brokers is None else [CreatePartitionsAssignment(broker_ids=brokers)]
    wanted = CreatePartitionsTopic(name=topic.name, count=count, assignments=placed)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000, validate_only=dry)
    (result,) = client.ask(request, version).results
    assert result.name == topic.name
    return result


@pytest.mark.parametrize("version", range(4))
def test_each_version_adds_partitions_that_can_be_used(
    client: WireClient, topic: Topic, version: int
) -> None:
    append(client, topic, b"old")

    assert grow(client, topic, 3, version=version).error_code == 0

    wait_for_leaders(client, topic.name, 3)
    assert append(client, topic, b"new", partition=2) == 0
    assert fetched(client, topic) == [b"old"]


@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_cannot_shrink_or_stay(
    client: WireClient, make_topic: MakeTopic, count: int
) -> None:
    refused = grow(client, make_topic(2), count)

    assert refused.error_code == ErrorCode.INVALID_PARTITIONS
    assert refused.error_message


def test_an_unknown_topic_cannot_grow(client: WireClient) -> None:
    assert grow(client, NO_TOPIC, 3).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_trial_adds_nothing(client: WireClient, topic: Topic) -> None:
    assert grow(client, topic, 2, dry=True).error_code == 0

    assert grow(client, topic, 2).error_code == 0


@pytest.mark.parametrize(
    ("brokers", "code"), [([1], ErrorCode.NONE), ([9], ErrorCode.INVALID_REPLICA_ASSIGNMENT)]
)
def test_replicas_can_be_placed_by_hand(
    client: WireClient, topic: Topic, brokers: list[int], code: ErrorCode
) -> None:
    assert grow(client, topic, 2, brokers=brokers).error_code == code
