"""Heartbeat (12), v0-4: a member of a classic group is alive, and hears whether it must join again.

v3  static members
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.server.authorization.rights import READ_GROUP
from klamm.server.call import Call, Message


def handle(request: HeartbeatRequest, call: Call) -> Message:
    call.require(READ_GROUP, request.group_id)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return call.broker.groups.look(
        request.group_id,
        lambda shard, token: shard.classic.heartbeat(request, token=token, now=call.now),
    )


def fail(request: HeartbeatRequest, error: ApiError, version: int) -> HeartbeatResponse:
    if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        # Nobody's session runs while the group is read from the log: all is well.
        return HeartbeatResponse()
    return HeartbeatResponse(error_code=error.code)
