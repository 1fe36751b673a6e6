"""ListPartitionReassignments on one node: nothing is on the move."""

from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from server.asking import NO_TOPIC, Topic
from server.wire_client import WireClient


def test_nothing_is_on_the_move(client: WireClient, topic: Topic) -> None:
    asked = [
        ListPartitionReassignmentsTopics(name=each.name, partition_indexes=[0, 9])
        for each in (topic, NO_TOPIC)
    ]
    for topics in (None, asked, []):
        answer = client.ask(ListPartitionReassignmentsRequest(timeout_ms=5_000, topics=topics))

        assert (answer.error_code, answer.topics) == (0, [])
