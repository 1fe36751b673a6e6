"""RemoveRaftVoter, asked of a quorum whose voters stand in the settings; those of the log are in tests/server/quorum."""

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from server.wire_client import WireClient


def test_voters_of_the_settings_cannot_change(controller: WireClient) -> None:
    answer = controller.ask(RemoveRaftVoterRequest(cluster_id=None, voter_id=1))

    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_another_cluster_is_refused(controller: WireClient) -> None:
    answer = controller.ask(RemoveRaftVoterRequest(cluster_id="another", voter_id=1))

    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
