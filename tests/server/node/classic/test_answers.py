"""Classic groups over the wire: every version, and what each refusal looks like."""

from pathlib import Path
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from klamm.protocol.messages.list_groups import ListGroupsRequest
from server.asking import error
from server.conftest import Connect
from server.node.classic.asking import (
    METADATA,
    SETTINGS,
    a_join,
    a_sync,
    find_coordinator,
    join,
    stable,
    wait_for_state,
)
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

# Every version.


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


# Waiting.


def test_a_round_waits_for_all_members_and_the_members_for_the_leader(
    connect: Connect, new_name: str
) -> None:
    first, second = connect(), connect()
    leader = stable(first, new_name)
    given = second.ask(a_join(new_name)).member_id
    second.send(a_join(new_name, given))
    wait_for_state(first, new_name, "PreparingRebalance")
    beat = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=leader)
    assert error(first.ask(beat).error_code) is ErrorCode.REBALANCE_IN_PROGRESS

    led = first.ask(a_join(new_name, leader))
    followed = second.receive()
    assert (led.generation_id, followed.generation_id) == (2, 2)
    assert {member.member_id for member in led.members} == {leader, given}
    assert (followed.leader, followed.members) == (leader, [])

    second.send(a_sync(new_name, given, 2))
    shares = {leader: b"left", given: b"right"}
    assert bytes(first.ask(a_sync(new_name, leader, 2, assignments=shares)).assignment) == b"left"
    assert bytes(second.receive().assignment) == b"right"


def test_a_member_that_is_removed_while_it_waits_is_told_so(
    connect: Connect, new_name: str
) -> None:
    admin, waiting = connect(), connect()
    stable(admin, new_name)
    given = waiting.ask(a_join(new_name)).member_id
    waiting.send(a_join(new_name, given))

    wait_for_state(admin, new_name, "PreparingRebalance")
    leave = LeaveGroupRequest(group_id=new_name, members=[MemberIdentity(member_id=given)])
    assert admin.ask(leave).members[0].error_code == 0

    assert error(waiting.receive().error_code) is ErrorCode.UNKNOWN_MEMBER_ID


# Static members.


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


def test_its_predecessor_is_fenced_everywhere(client: WireClient, new_name: str) -> None:
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


def test_an_administrator_removes_it_by_its_instance(client: WireClient, new_name: str) -> None:
    stable(client, new_name, group_instance_id="one")
    leaving = [MemberIdentity(group_instance_id="one"), MemberIdentity(group_instance_id="two")]

    answer = client.ask(LeaveGroupRequest(group_id=new_name, members=leaving))

    assert [(m.group_instance_id, m.error_code) for m in answer.members] == [
        ("one", ErrorCode.NONE),
        ("two", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    (described,) = client.ask(DescribeGroupsRequest(groups=[new_name])).groups
    assert (described.group_state, described.members) == ("Empty", [])


# Refusals.


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


def test_syncs_and_heartbeats_that_are_refused(client: WireClient, new_name: str) -> None:
    member_id = stable(client, new_name)

    def sync(*asked: Any, **more: Any) -> ErrorCode:
        return error(client.ask(a_sync(*asked, **more)).error_code)

    def beat(group: str, member: str, generation: int) -> ErrorCode:
        request = HeartbeatRequest(group_id=group, member_id=member, generation_id=generation)
        return error(client.ask(request).error_code)

    for ask in (sync, beat):
        assert ask("", member_id, 1) is ErrorCode.INVALID_GROUP_ID
        assert ask("no such group", member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
        assert ask(new_name, "stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
        assert ask(new_name, member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(new_name, member_id, 1, protocol_name="other") is inconsistent
    assert sync(new_name, member_id, 1, protocol_type="connect") is inconsistent
    assert sync(new_name, member_id, 1, protocol_name=None) is inconsistent
    assert sync("", member_id, 1, protocol_type=None) is inconsistent


@pytest.mark.parametrize("version", [2, 3, 5])
def test_leaving_what_one_does_not_belong_to(
    client: WireClient, new_name: str, version: int
) -> None:
    stable(client, new_name)

    def leave(group: str) -> tuple[ErrorCode, list[ErrorCode]]:
        named = [MemberIdentity(member_id="x")]
        request = LeaveGroupRequest(group_id=group, member_id="x", members=named)
        answer = client.ask(request, version)
        return error(answer.error_code), [error(m.error_code) for m in answer.members]

    unknown, none = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE
    expected = (unknown, []) if version < 3 else (none, [unknown])
    assert leave(new_name) == expected
    assert leave("no such group") == expected
    assert leave("") == (ErrorCode.INVALID_GROUP_ID, [])


# Describing, listing, deleting.


def test_a_group_that_is_not_there_is_dead_or_an_error_by_version(client: WireClient) -> None:
    request = DescribeGroupsRequest(groups=["none"], include_authorized_operations=True)

    (old,), (new,) = (client.ask(request, version).groups for version in (5, 6))

    assert (old.error_code, old.group_state, old.authorized_operations) == (0, "Dead", 3400)
    assert (error(new.error_code), new.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group none not found.",
    )
    assert (new.group_state, new.authorized_operations) == ("Dead", -(2**31))


def test_what_one_may_do_with_a_group_is_told_who_asks(client: WireClient, new_name: str) -> None:
    stable(client, new_name)

    for wanted, operations in ((True, 3400), (False, -(2**31))):
        request = DescribeGroupsRequest(
            groups=[new_name, new_name], include_authorized_operations=wanted
        )
        groups = client.ask(request).groups
        assert [group.authorized_operations for group in groups] == [operations] * 2


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([], [], True),
        ([], ["Classic"], True),
        (["STABLE "], ["classic"], True),
        (["Empty", "stable"], [], True),
        (["Empty"], [], False),
        (["nonsense"], [], False),
        ([], ["consumer"], False),
        ([], ["nonsense"], False),
    ],
)
def test_groups_are_listed_by_state_and_type(
    client: WireClient, new_name: str, states: list[str], types: list[str], is_listed: bool
) -> None:
    stable(client, new_name)

    answer = client.ask(ListGroupsRequest(states_filter=states, types_filter=types))

    found = [(g.group_state, g.group_type) for g in answer.groups if g.group_id == new_name]
    assert found == ([("Stable", "classic")] if is_listed else [])


def test_each_group_has_its_own_outcome_when_several_are_deleted(
    client: WireClient, new_name: str
) -> None:
    stable(client, new_name)
    empty = f"{new_name}-empty"
    client.ask(a_join(empty))

    answer = client.ask(DeleteGroupsRequest(groups_names=[new_name, empty, "none", "", new_name]))

    assert {r.group_id: error(r.error_code) for r in answer.results} == {
        new_name: ErrorCode.NON_EMPTY_GROUP,
        empty: ErrorCode.NONE,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
        "": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert len(answer.results) == 4


# This node only.


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
