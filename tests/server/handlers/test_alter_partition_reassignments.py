"""AlterPartitionReassignments on one node: there is nowhere to move to. Expectations hold for Apache Kafka 4.3.1 as well."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from server.asking import NO_TOPIC, Topic
from server.wire_client import WireClient


def move(
    client: WireClient, topic: Topic, replicas: list[int] | None, version: int | None = None
) -> tuple[int, str | None]:
    partition = ReassignablePartition(partition_index=0, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=5_000, topics=[ReassignableTopic(name=topic.name, partitions=[partition])]
    )
    answer = client.ask(request, version)
    assert answer.error_code == 0
    (result,) = answer.responses[0].partitions
    return result.error_code, result.error_message


@pytest.mark.parametrize("version", range(2))
def test_a_partition_stays_where_it_is(client: WireClient, topic: Topic, version: int) -> None:
    assert move(client, topic, [1], version) == (0, None)
    assert move(client, topic, None, version) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_what_cannot_be_is_refused(client: WireClient, topic: Topic) -> None:
    assert move(client, NO_TOPIC, [1])[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(client, topic, [9]) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    )
