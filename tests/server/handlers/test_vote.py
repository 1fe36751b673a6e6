"""Vote, asked of a node that leads its quorum."""

from dataclasses import replace

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.protocol.messages.vote import VoteRequest
from klamm.raft.messages import ReplicaKey, Vote
from klamm.server.quorum.requests import Terms, to_wire
from server.running_node import RunningNode
from server.wire_client import WireClient

A_VOTE = Vote(ReplicaKey(2), 1, OffsetAndEpoch(10_000, 1), True, ReplicaKey(1))


def asked(vote: Vote, node: RunningNode) -> VoteRequest:
    message = to_wire(vote, Terms(cluster_id=node.node.ready.cluster_id, listener="CONTROLLER"))
    assert isinstance(message, VoteRequest)
    return message


def test_a_leader_helps_nobody_to_depose_it(
    controller: WireClient, controller_node: RunningNode
) -> None:
    answer = controller.ask(asked(A_VOTE, controller_node))

    assert answer.error_code == ErrorCode.NONE
    (partition,) = answer.topics[0].partitions
    assert (partition.error_code, partition.vote_granted) == (ErrorCode.NONE, False)
    assert (partition.leader_id, partition.leader_epoch) == (1, 1)
    (leader,) = answer.node_endpoints
    assert f"{leader.host}:{leader.port}" == controller_node.address


@pytest.mark.parametrize(
    ("vote", "error"),
    [
        (replace(A_VOTE, epoch=0, log_end=OffsetAndEpoch(0, 0)), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(A_VOTE, voter=ReplicaKey(7)), ErrorCode.INVALID_VOTER_KEY),
        (replace(A_VOTE, voter=ReplicaKey(1, Uuid(bytes(range(16))))), ErrorCode.INVALID_VOTER_KEY),
        (replace(A_VOTE, log_end=OffsetAndEpoch(-1, 0)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_vote_that_cannot_be_meant_is_refused(
    controller: WireClient, controller_node: RunningNode, vote: Vote, error: ErrorCode
) -> None:
    answer = controller.ask(asked(vote, controller_node))

    (partition,) = answer.topics[0].partitions
    assert (partition.error_code, partition.vote_granted) == (error, False)


def test_another_cluster_gets_no_vote(controller: WireClient, controller_node: RunningNode) -> None:
    request = asked(A_VOTE, controller_node)
    request.cluster_id = "another"

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_another_topic_has_no_quorum(controller: WireClient, controller_node: RunningNode) -> None:
    request = asked(A_VOTE, controller_node)
    request.topics[0].topic_name = "other"

    assert controller.ask(request).error_code == ErrorCode.INVALID_REQUEST
