"""LeaveGroup (13), v0-5: members leave a group, by themselves or on the word of an administrator.

v3  several members, each with its own outcome; a static member may be named by its instance alone
v5  a reason
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from klamm.server.authorization.rights import READ_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_FIRST_WITH_MANY = 3


def handle(request: LeaveGroupRequest, call: Call) -> Message | Parked:
    call.require(READ_GROUP, request.group_id)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    has_many = call.version >= _FIRST_WITH_MANY
    leaving = request.members if has_many else [MemberIdentity(member_id=request.member_id)]
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.classic.leave(
            request.group_id, leaving, version=call.version, token=token, now=call.now
        ),
    )


def fail(request: LeaveGroupRequest, error: ApiError, version: int) -> LeaveGroupResponse:
    """A group that is not there is news about each member."""
    if version < _FIRST_WITH_MANY or error.code is not ErrorCode.UNKNOWN_MEMBER_ID:
        return LeaveGroupResponse(error_code=error.code)
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                error_code=error.code,
            )
            for each in request.members
        ]
    )
