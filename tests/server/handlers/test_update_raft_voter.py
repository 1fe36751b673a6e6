"""UpdateRaftVoter: Java's voters send it to whoever leads, also where the voters stand in the settings."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.update_raft_voter import Listener, UpdateRaftVoterRequest
from server.wire_client import WireClient

A_LISTENER = Listener(name="CONTROLLER", host="127.0.0.1", port=9099)


@pytest.mark.parametrize(
    ("epoch", "listeners", "error"),
    [
        (1, [A_LISTENER], ErrorCode.NONE),
        (0, [A_LISTENER], ErrorCode.FENCED_LEADER_EPOCH),
        (2, [A_LISTENER], ErrorCode.UNKNOWN_LEADER_EPOCH),
        (1, [], ErrorCode.INVALID_REQUEST),
    ],
)
def test_whoever_says_where_it_is_hears_who_leads(
    controller: WireClient, epoch: int, listeners: list[Listener], error: ErrorCode
) -> None:
    request = UpdateRaftVoterRequest(
        cluster_id=None, current_leader_epoch=epoch, voter_id=1, listeners=listeners
    )

    answer = controller.ask(request)

    assert answer.error_code == error
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (1, 1)


def test_another_cluster_is_refused(controller: WireClient) -> None:
    answer = controller.ask(UpdateRaftVoterRequest(cluster_id="another"))

    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
