"""EndQuorumEpoch, asked of a node that leads its quorum."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.raft.messages import EndEpoch, ReplicaKey
from klamm.server.quorum.requests import Terms, to_wire
from server.running_node import RunningNode
from server.wire_client import WireClient


@pytest.mark.parametrize(
    ("leader", "epoch", "error"),
    [(2, 0, ErrorCode.FENCED_LEADER_EPOCH), (2, 1, ErrorCode.INVALID_REQUEST)],
)
@pytest.mark.parametrize("version", [0, 1])
def test_only_the_leader_of_the_epoch_can_end_it(
    controller: WireClient,
    controller_node: RunningNode,
    leader: int,
    epoch: int,
    error: ErrorCode,
    version: int,
) -> None:
    terms = Terms(cluster_id=controller_node.node.ready.cluster_id, listener="CONTROLLER")
    request = to_wire(EndEpoch(leader, epoch, (ReplicaKey(1),)), terms)

    answer = controller.ask(request, version)

    (partition,) = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code) == (ErrorCode.NONE, error)
    assert (partition.leader_id, partition.leader_epoch) == (1, 1)


def test_another_cluster_is_refused(controller: WireClient) -> None:
    request = to_wire(EndEpoch(2, 5), Terms(cluster_id="another", listener="CONTROLLER"))

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
