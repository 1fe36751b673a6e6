"""Heartbeat: a member of a classic group is alive, and hears what it must do."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from server.asking import error
from server.conftest import Connect
from server.handlers.classic_groups import a_join, stable, wait_for_state
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


def beat(client: WireClient, group: str, member: str, generation: int) -> ErrorCode:
    request = HeartbeatRequest(group_id=group, member_id=member, generation_id=generation)
    return error(client.ask(request).error_code)


def test_a_member_is_told_to_join_again_while_others_come(connect: Connect, new_name: str) -> None:
    member, newcomer = connect(), connect()
    member_id = stable(member, new_name)
    assert beat(member, new_name, member_id, 1) is ErrorCode.NONE

    given = newcomer.ask(a_join(new_name)).member_id
    newcomer.send(a_join(new_name, given))
    wait_for_state(member, new_name, "PreparingRebalance")

    assert beat(member, new_name, member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_heartbeats_that_are_refused(client: WireClient, new_name: str) -> None:
    member_id = stable(client, new_name)

    assert beat(client, "", member_id, 1) is ErrorCode.INVALID_GROUP_ID
    assert beat(client, "no such group", member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(client, new_name, "stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(client, new_name, member_id, 2) is ErrorCode.ILLEGAL_GENERATION
