"""LeaveGroup: members go, or are removed by an administrator."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from server.asking import error
from server.conftest import Connect
from server.handlers.classic_groups import a_join, stable, wait_for_state
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


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
