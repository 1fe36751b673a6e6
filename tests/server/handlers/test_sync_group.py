"""SyncGroup: the leader of a classic group hands out, the others wait for it."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from server.asking import error
from server.conftest import Connect
from server.handlers.classic_groups import a_join, a_sync, stable, wait_for_state
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


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


def test_syncs_that_are_refused(client: WireClient, new_name: str) -> None:
    member_id = stable(client, new_name)

    def sync(*asked: Any, **more: Any) -> ErrorCode:
        return error(client.ask(a_sync(*asked, **more)).error_code)

    assert sync("", member_id, 1) is ErrorCode.INVALID_GROUP_ID
    assert sync("no such group", member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(new_name, "stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(new_name, member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(new_name, member_id, 1, protocol_name="other") is inconsistent
    assert sync(new_name, member_id, 1, protocol_type="connect") is inconsistent
    assert sync(new_name, member_id, 1, protocol_name=None) is inconsistent
    assert sync("", member_id, 1, protocol_type=None) is inconsistent
