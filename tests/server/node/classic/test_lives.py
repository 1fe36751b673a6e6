"""Whole lives of classic members over the wire. What each API answers is in tests/server/handlers."""

from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from klamm.protocol.messages.list_groups import ListGroupsRequest
from server.asking import error
from server.handlers.classic_groups import (
    METADATA,
    SETTINGS,
    a_join,
    a_sync,
    find_coordinator,
    join,
    stable,
)
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_works_and_leaves_in_any_version(
    client: WireClient, new_name: str, version: int
) -> None:
    joined = join(client, new_name, version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert [bytes(member.metadata) for member in joined.members] == [METADATA]

    member_id = joined.member_id
    sync = a_sync(new_name, member_id, 1, assignments={member_id: b"all"})
    synced = client.ask(sync, min(version, 5))
    assert bytes(synced.assignment) == b"all"

    beat = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=member_id)
    assert client.ask(beat, min(version, 4)).error_code == 0

    (described,) = client.ask(DescribeGroupsRequest(groups=[new_name]), min(version, 6)).groups
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    assert described.members[0].client_host == "/127.0.0.1"

    leave = LeaveGroupRequest(
        group_id=new_name, member_id=member_id, members=[MemberIdentity(member_id=member_id)]
    )
    left = client.ask(leave, min(version, 5))
    assert [left.error_code, *(member.error_code for member in left.members)][:2] in ([0], [0, 0])

    listed = client.ask(ListGroupsRequest(), min(version, 5)).groups
    assert [group.protocol_type for group in listed if group.group_id == new_name] == ["consumer"]

    deleted = client.ask(DeleteGroupsRequest(groups_names=[new_name]), min(version, 2))
    assert [result.error_code for result in deleted.results] == [0]


def test_the_predecessor_of_a_static_member_is_fenced_everywhere(
    client: WireClient, new_name: str
) -> None:
    old = stable(client, new_name, group_instance_id="one")
    client.ask(a_join(new_name, group_instance_id="one"))

    asked = {"group_id": new_name, "member_id": old, "group_instance_id": "one"}
    leaving = MemberIdentity(member_id=old, group_instance_id="one")
    answers = [
        client.ask(HeartbeatRequest(generation_id=1, **asked)),
        client.ask(a_sync(new_name, old, 1, group_instance_id="one")),
        client.ask(a_join(new_name, old, group_instance_id="one")),
        *client.ask(LeaveGroupRequest(group_id=new_name, members=[leaving])).members,
    ]

    assert {error(answer.error_code) for answer in answers} == {ErrorCode.FENCED_INSTANCE_ID}


def test_a_group_goes_on_after_a_restart(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "data", SETTINGS) as node, WireClient(node.address) as client:
        find_coordinator(client)
        member_id = stable(client, "group")

    with RunningNode(tmp_path / "data", SETTINGS) as node, WireClient(node.address) as client:
        find_coordinator(client)
        beat = HeartbeatRequest(group_id="group", generation_id=1, member_id=member_id)
        assert client.ask(beat).error_code == 0
        assert bytes(client.ask(a_sync("group", member_id, 1)).assignment) == b"assignment"


def test_a_silent_member_is_out_after_its_session(tmp_path: Path) -> None:
    settings = {**SETTINGS, "group.min.session.timeout.ms": 50}
    with RunningNode(tmp_path / "data", settings) as node, WireClient(node.address) as client:
        find_coordinator(client)
        stable(client, "group", session_timeout_ms=50)

        def is_empty() -> None:
            (group,) = client.ask(DescribeGroupsRequest(groups=["group"])).groups
            assert (group.group_state, group.members) == ("Empty", [])

        eventually(is_empty)
