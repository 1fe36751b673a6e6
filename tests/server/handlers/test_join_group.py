"""JoinGroup: who may become a member of a classic group. Rounds of several members are in node/classic."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from server.handlers.classic_groups import a_join, a_sync, stable
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


def refused(error_code: ErrorCode, member_id: str, protocol_name: str | None) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error_code, member_id=member_id, protocol_name=protocol_name
    )


@pytest.mark.parametrize(("version", "name"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_joins_that_are_refused_before_a_group_is_looked_at(
    client: WireClient, new_name: str, version: int, name: str | None
) -> None:
    def ask(request: JoinGroupRequest) -> Any:
        return client.ask(request, version)

    invalid, session = ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT
    assert ask(a_join("", "me")) == refused(invalid, "me", name)
    assert ask(a_join(new_name, "me", session_timeout_ms=5)) == refused(session, "me", name)
    assert ask(a_join(new_name, "me", session_timeout_ms=2**31 - 1)) == refused(session, "me", name)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert ask(a_join(new_name, "me")) == refused(unknown, "me", name)


def test_joins_that_a_group_refuses(client: WireClient, new_name: str) -> None:
    member_id = stable(client, new_name)
    other = [JoinGroupRequestProtocol(name="other", metadata=b"")]
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    assert client.ask(a_join(new_name, protocols=other)) == refused(inconsistent, "", None)
    assert client.ask(a_join(new_name, member_id, protocol_type="connect")) == refused(
        inconsistent, member_id, None
    )
    assert client.ask(a_join(new_name, "stranger")) == refused(
        ErrorCode.UNKNOWN_MEMBER_ID, "stranger", None
    )
    assert client.ask(a_join(new_name, member_id, group_instance_id="x")) == refused(
        ErrorCode.UNKNOWN_MEMBER_ID, member_id, None
    )
    given = client.ask(a_join(new_name)).member_id
    assert client.ask(a_join(new_name, given, group_instance_id="x")) == refused(
        ErrorCode.UNKNOWN_SERVER_ERROR, "", None
    )


def test_a_client_without_a_name_gets_an_id_that_begins_with_a_dash(
    address: str, new_name: str
) -> None:
    with WireClient(address, client_id=None) as nameless:
        assert nameless.ask(a_join(new_name)).member_id.startswith("-")


def test_a_static_member_comes_back_without_a_round(client: WireClient, new_name: str) -> None:
    old = stable(client, new_name, group_instance_id="one")

    answer = client.ask(a_join(new_name, group_instance_id="one"))

    assert (answer.error_code, answer.generation_id, answer.skip_assignment) == (0, 1, True)
    assert answer.leader == answer.member_id != old
    again = a_sync(new_name, answer.member_id, 1, group_instance_id="one")
    assert bytes(client.ask(again).assignment) == b"assignment"


def test_an_old_client_that_comes_back_does_not_lead(client: WireClient, new_name: str) -> None:
    old = stable(client, new_name, group_instance_id="one")

    answer = client.ask(a_join(new_name, group_instance_id="one"), 8)

    assert (answer.error_code, answer.leader, answer.members) == (0, old, [])
