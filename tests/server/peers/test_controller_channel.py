"""The way to the active controller, which may turn out to be this node itself."""

from klamm.base.errors import ErrorCode
from klamm.base.principal import ANONYMOUS
from klamm.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from klamm.server.controller_port import Origin
from klamm.testing.cluster import CLUSTER_ID, SimulatedCluster
from klamm.testing.world import Simulation


def test_a_node_that_leads_by_now_changes_the_voters_itself() -> None:
    cluster = SimulatedCluster(Simulation(1), nodes=4, roles="xxxo", has_open_quorum=True)

    async def work() -> RemoveRaftVoterResponse:
        leader = cluster.nodes[1].quorum.leader_id
        assert leader is not None
        leaves = cluster.voter(next(each for each in (1, 2, 3) if each != leader))
        request = RemoveRaftVoterRequest(
            cluster_id=CLUSTER_ID, voter_id=leaves.id, voter_directory_id=leaves.directory
        )
        answer: RemoveRaftVoterResponse = await cluster.nodes[leader].quorum.controller.forward(
            request, Origin(0, "tool", "localhost", ANONYMOUS)
        )
        assert leaves.id not in cluster.nodes[leader].quorum.raft.raft.voters.ids
        return answer

    assert cluster.run(work).error_code == ErrorCode.NONE
