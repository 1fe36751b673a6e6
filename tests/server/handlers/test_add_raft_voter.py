"""AddRaftVoter, asked of a quorum whose voters stand in the settings; those of the log are in tests/server/quorum."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from server.wire_client import WireClient

A_LISTENER = Listener(name="CONTROLLER", host="127.0.0.1", port=9099)


@pytest.mark.parametrize("version", [0, 1])
def test_voters_of_the_settings_cannot_change(controller: WireClient, version: int) -> None:
    request = AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=5_000,
        voter_id=7,
        voter_directory_id=Uuid(bytes(range(16))),
        listeners=[A_LISTENER],
    )

    answer = controller.ask(request, version)

    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "kraft.version" in answer.error_message


def test_a_voter_must_say_where_it_is(controller: WireClient) -> None:
    request = AddRaftVoterRequest(cluster_id=None, timeout_ms=5_000, voter_id=7)

    assert controller.ask(request).error_code == ErrorCode.INVALID_REQUEST


def test_another_cluster_is_refused(controller: WireClient) -> None:
    request = AddRaftVoterRequest(cluster_id="another", voter_id=7, listeners=[A_LISTENER])

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
