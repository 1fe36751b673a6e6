"""FindCoordinator: the internal topic is there when the answer comes. Errors are compared with Kafka's in tests/oracle."""

from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from server.running_node import RunningNode
from server.wire_client import WireClient


@pytest.mark.parametrize(("kind", "topic"), [(0, "__consumer_offsets"), (1, "__transaction_state")])
def test_the_first_question_creates_the_topic(
    client: WireClient, address: str, kind: int, topic: str
) -> None:
    answer = client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["a", "b"]))

    assert [found.key for found in answer.coordinators] == ["a", "b"]
    assert {f"{found.host}:{found.port}" for found in answer.coordinators} == {address}
    described = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)])).topics[0]
    assert (len(described.partitions), described.is_internal) == (50, True)


def test_without_enough_brokers_for_the_topic_there_is_no_coordinator(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path, {"offsets.topic.replication.factor": 3}) as node,
        WireClient(node.address) as client,
    ):
        answer = client.ask(FindCoordinatorRequest(coordinator_keys=["a"]))

    (found,) = answer.coordinators
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
