"""DescribeQuorum: one voter, who leads. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from server.conftest import MakeTopic
from server.wire_client import WireClient


def describe(
    client: WireClient,
    topic: str = "__cluster_metadata",
    partition: int = 0,
    version: int | None = None,
) -> Any:
    asked = DescribeQuorumRequestTopicData(
        topic_name=topic,
        partitions=[DescribeQuorumRequestPartitionData(partition_index=partition)],
    )
    answer = client.ask(DescribeQuorumRequest(topics=[asked]), version)
    assert answer.error_code == 0
    (found,) = answer.topics
    assert found.topic_name == topic
    return found.partitions[0]


@pytest.mark.parametrize("version", range(3))
def test_each_version_names_the_leader_and_its_only_voter(client: WireClient, version: int) -> None:
    quorum = describe(client, version=version)

    (voter,) = quorum.current_voters
    assert (quorum.error_code, quorum.leader_id, voter.replica_id) == (0, 1, 1)
    assert quorum.observers == []
    assert quorum.high_watermark <= voter.log_end_offset
    if version >= 1:
        assert voter.last_caught_up_timestamp > 0


def test_the_log_grows_with_the_cluster(client: WireClient, make_topic: MakeTopic) -> None:
    before = describe(client).high_watermark

    make_topic()

    assert describe(client).high_watermark > before


@pytest.mark.parametrize(("topic", "partition"), [("other", 0), ("__cluster_metadata", 1)])
def test_there_is_no_other_quorum(client: WireClient, topic: str, partition: int) -> None:
    found = describe(client, topic, partition)

    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.current_voters == []
