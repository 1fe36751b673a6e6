"""Rounds over the wire: members that wait for each other, and what ends their waiting."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from klamm.protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from server.asking import error
from server.conftest import Connect
from server.handlers.classic_groups import METADATA, a_join, a_sync, join, stable, wait_for_state
from server.wire_client import WireClient


def two_joined(
    first: WireClient, second: WireClient, group: str, **more: Any
) -> tuple[JoinGroupResponse, JoinGroupResponse]:
    """Two members of a round that is formed, generation 2; the first leads."""
    leader = join(first, group, **more).member_id
    follower = second.ask(a_join(group, **more)).member_id
    second.send(a_join(group, follower, **more))
    wait_for_state(first, group, "PreparingRebalance")
    led = first.ask(a_join(group, leader, **more))
    return led, second.receive()


def two_static(first: WireClient, second: WireClient, group: str) -> tuple[str, str]:
    """Two static members of a round that is formed, generation 2; the first leads."""
    leader = join(first, group, group_instance_id="one").member_id
    second.send(a_join(group, group_instance_id="two"))
    wait_for_state(first, group, "PreparingRebalance")
    first.ask(a_join(group, leader, group_instance_id="one"))
    return leader, str(second.receive().member_id)


def protocols(*names: str) -> list[JoinGroupRequestProtocol]:
    return [JoinGroupRequestProtocol(name=name, metadata=METADATA) for name in names]


def test_who_waits_for_the_assignment_is_sent_back_when_another_joins(
    connect: Connect, new_name: str
) -> None:
    first, second, third = connect(), connect(), connect()
    led, followed = two_joined(first, second, new_name)
    second.send(a_sync(new_name, followed.member_id, 2))

    given = third.ask(a_join(new_name)).member_id
    third.send(a_join(new_name, given))

    assert error(second.receive().error_code) is ErrorCode.REBALANCE_IN_PROGRESS
    first.send(a_join(new_name, led.member_id))
    second.send(a_join(new_name, followed.member_id))
    assert {client.receive().generation_id for client in (first, second, third)} == {3}


def test_a_leader_that_leaves_before_it_assigns_calls_the_round_off(
    connect: Connect, new_name: str
) -> None:
    first, second = connect(), connect()
    led, followed = two_joined(first, second, new_name)
    second.send(a_sync(new_name, followed.member_id, 2))
    leaving = [MemberIdentity(member_id=led.member_id)]

    first.ask(LeaveGroupRequest(group_id=new_name, members=leaving))

    assert error(second.receive().error_code) is ErrorCode.REBALANCE_IN_PROGRESS
    alone = second.ask(a_join(new_name, followed.member_id))
    assert (alone.generation_id, alone.leader) == (3, followed.member_id)


def test_a_follower_with_a_new_subscription_makes_a_round(connect: Connect, new_name: str) -> None:
    first, second = connect(), connect()
    led, followed = two_joined(first, second, new_name)
    first.ask(a_sync(new_name, led.member_id, 2))
    same = second.ask(a_join(new_name, followed.member_id))
    assert (same.generation_id, same.members) == (2, [])

    changed = [JoinGroupRequestProtocol(name="range", metadata=METADATA + b"more")]
    second.send(a_join(new_name, followed.member_id, protocols=changed))
    wait_for_state(first, new_name, "PreparingRebalance")
    again = first.ask(a_join(new_name, led.member_id))

    assert again.generation_id == second.receive().generation_id == 3
    told = {member.member_id: bytes(member.metadata) for member in again.members}
    assert told[followed.member_id] == METADATA + b"more"


def test_the_protocol_is_the_one_that_most_prefer_of_those_that_all_know(
    connect: Connect, new_name: str
) -> None:
    first, second = connect(), connect()
    leader = join(first, new_name, protocols=protocols("own", "range", "sticky")).member_id
    given = second.ask(a_join(new_name, protocols=protocols("sticky", "range"))).member_id
    second.send(a_join(new_name, given, protocols=protocols("sticky", "range")))
    wait_for_state(first, new_name, "PreparingRebalance")

    led = first.ask(a_join(new_name, leader, protocols=protocols("sticky", "range", "own")))

    assert led.protocol_name == second.receive().protocol_name == "sticky"


@pytest.mark.parametrize("protocol_type", ["connect", "sr", "custom"])
def test_other_kinds_of_members_share_by_their_own_rules(
    client: WireClient, new_name: str, protocol_type: str
) -> None:
    facts = {"protocol_type": protocol_type, "protocols": protocols("theirs")}
    joined = join(client, new_name, **facts)
    assert (joined.protocol_type, joined.protocol_name) == (protocol_type, "theirs")

    sync = a_sync(
        new_name,
        joined.member_id,
        1,
        protocol_type=protocol_type,
        protocol_name="theirs",
        assignments={joined.member_id: b"\xff opaque"},
    )
    assert bytes(client.ask(sync).assignment) == b"\xff opaque"
    (described,) = client.ask(DescribeGroupsRequest(groups=[new_name])).groups
    assert (described.protocol_type, described.protocol_data) == (protocol_type, "theirs")


@pytest.mark.parametrize(("version", "name"), [(5, ""), (9, None)])
def test_a_static_member_that_waits_for_the_round_is_fenced_by_its_successor(
    connect: Connect, new_name: str, version: int, name: str | None
) -> None:
    first, second, third = connect(), connect(), connect()
    leader, follower = two_static(first, second, new_name)
    first.ask(a_sync(new_name, leader, 2, group_instance_id="one"))
    changed = protocols("range", "more")
    second.send(a_join(new_name, follower, group_instance_id="two", protocols=changed), version)
    wait_for_state(first, new_name, "PreparingRebalance")

    third.send(a_join(new_name, group_instance_id="two"))

    fenced = second.receive()
    assert (error(fenced.error_code), fenced.member_id, fenced.protocol_name) == (
        ErrorCode.FENCED_INSTANCE_ID,
        follower,
        name,
    )
    led = first.ask(a_join(new_name, leader, group_instance_id="one"))
    successor = third.receive()
    assert led.generation_id == successor.generation_id == 3
    assert {member.member_id for member in led.members} == {leader, successor.member_id}


def test_a_static_member_that_waits_for_its_assignment_is_fenced_by_its_successor(
    connect: Connect, new_name: str
) -> None:
    first, second, third = connect(), connect(), connect()
    leader, follower = two_static(first, second, new_name)
    second.send(a_sync(new_name, follower, 2, group_instance_id="two"))

    third.send(a_join(new_name, group_instance_id="two"))

    assert error(second.receive().error_code) is ErrorCode.FENCED_INSTANCE_ID
    late = first.ask(a_sync(new_name, leader, 2, group_instance_id="one"))
    assert error(late.error_code) is ErrorCode.REBALANCE_IN_PROGRESS
    led = first.ask(a_join(new_name, leader, group_instance_id="one"))
    assert led.generation_id == third.receive().generation_id == 3


def test_a_group_that_is_forming_shows_its_members_without_what_they_told(
    connect: Connect, new_name: str
) -> None:
    first, second = connect(), connect()
    member_id = stable(first, new_name)
    given = second.ask(a_join(new_name)).member_id
    second.send(a_join(new_name, given))
    wait_for_state(first, new_name, "PreparingRebalance")

    (described,) = first.ask(DescribeGroupsRequest(groups=[new_name])).groups

    assert described.protocol_data == ""
    shown = {m.member_id: (m.member_metadata, m.member_assignment) for m in described.members}
    assert shown == {member_id: (b"", b"assignment"), given: (b"", b"")}
