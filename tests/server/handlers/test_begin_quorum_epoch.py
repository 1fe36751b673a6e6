"""BeginQuorumEpoch, asked of a node that leads its quorum."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from klamm.raft.messages import BeginEpoch, ReplicaKey
from klamm.server.quorum.requests import Terms, to_wire
from server.running_node import RunningNode
from server.wire_client import WireClient


@pytest.mark.parametrize(
    ("leader", "epoch", "error"),
    [
        (2, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (2, 1, ErrorCode.INVALID_REQUEST),
        (1, 1, ErrorCode.INVALID_REQUEST),
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_a_leader_follows_nobody_of_its_own_epoch_or_an_older_one(
    controller: WireClient,
    controller_node: RunningNode,
    leader: int,
    epoch: int,
    error: ErrorCode,
    version: int,
) -> None:
    terms = Terms(cluster_id=controller_node.node.ready.cluster_id, listener="CONTROLLER")
    request = to_wire(BeginEpoch(leader, epoch, ReplicaKey(1)), terms)
    assert isinstance(request, BeginQuorumEpochRequest)

    answer = controller.ask(request, version)

    (partition,) = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code) == (ErrorCode.NONE, error)
    assert (partition.leader_id, partition.leader_epoch) == (1, 1)


def test_another_cluster_is_refused(controller: WireClient) -> None:
    request = to_wire(BeginEpoch(2, 5), Terms(cluster_id="another", listener="CONTROLLER"))

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
