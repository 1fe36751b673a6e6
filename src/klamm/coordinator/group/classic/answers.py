"""The messages that members of a classic group get."""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Member
from klamm.coordinator.group.classic.states import STABLE
from klamm.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from klamm.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from klamm.protocol.messages.leave_group import LeaveGroupResponse, MemberResponse
from klamm.protocol.messages.sync_group import SyncGroupResponse

UNKNOWN_MEMBER = ""
# From this version of JoinGroup on a protocol's name can be absent.
_NULLABLE_PROTOCOL = 7
# From this version of LeaveGroup on each member has an outcome of its own.
_LEAVE_MANY = 3


def joined(group: ClassicGroup, member: Member) -> JoinGroupResponse:
    """The round is formed. Only the leader is told of the others."""
    is_leader = member.member_id == group.leader_id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=roll(group) if is_leader else [],
    )


def not_joined(error: ErrorCode, member_id: str, version: int) -> JoinGroupResponse:
    name = None if version >= _NULLABLE_PROTOCOL else ""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=name)


def roll(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in group.members.values()
    ]


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )


def not_synced(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def left(results: list[MemberResponse], version: int) -> LeaveGroupResponse:
    if version >= _LEAVE_MANY:
        return LeaveGroupResponse(members=results)
    (result,) = results
    return LeaveGroupResponse(error_code=result.error_code)


def described(group: ClassicGroup) -> DescribedGroup:
    """What the members told each other is shown only while the group is stable."""
    is_stable = group.state is STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=(group.protocol or "") if is_stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client.id,
                client_host=member.client.host,
                member_metadata=member.metadata(group.protocol) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )
