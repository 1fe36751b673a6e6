"""DescribeGroups (15), v0-6: state, protocol and members of classic groups.

v3  authorized operations
v4  instance ids
v6  a group that is not there is an error, no longer a dead group
"""

from __future__ import annotations

from klamm.base.acl import AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Reply
from klamm.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from klamm.server.authorization.rights import DESCRIBE_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_FIRST_WITH_NOT_FOUND = 6
_DEAD = "Dead"


def handle(request: DescribeGroupsRequest, call: Call) -> Message | Parked:
    denied = call.denied(DESCRIBE_GROUP, request.groups)
    asked = [group_id for group_id in request.groups if group_id not in denied]

    def join(replies: list[Reply]) -> DescribeGroupsResponse:
        groups = [
            _answer(group_id, reply, call.version)
            for group_id, reply in zip(asked, replies, strict=True)
        ]
        for group in groups:
            if group.error_code == ErrorCode.NONE and request.include_authorized_operations:
                group.authorized_operations = call.operations(AclResourceType.GROUP, group.group_id)
        groups += [
            DescribedGroup(group_id=group_id, error_code=DESCRIBE_GROUP.error)
            for group_id in request.groups
            if group_id in denied
        ]
        return DescribeGroupsResponse(groups=groups)

    questions = [
        (group_id, lambda shard, token, name=group_id: shard.describe_classic(name, token=token))
        for group_id in asked
    ]
    return call.broker.groups.ask_each(questions, request, call, join, is_read=True)


def fail(request: DescribeGroupsRequest, error: ApiError, version: int) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[_answer(group_id, error, version) for group_id in request.groups]
    )


def _answer(group_id: str, reply: Reply, version: int) -> DescribedGroup:
    if isinstance(reply, DescribedGroup):
        return reply
    assert isinstance(reply, ApiError)
    if reply.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(group_id=group_id, error_code=reply.code)
    if version < _FIRST_WITH_NOT_FOUND:
        return DescribedGroup(group_id=group_id, group_state=_DEAD)
    return DescribedGroup(
        group_id=group_id,
        group_state=_DEAD,
        error_code=reply.code,
        error_message=reply.message,
    )
