"""JoinGroup (11), v0-9: enter a group, or enter it again for a new round. Answered when the round is formed.

v0  one timeout for session and rebalance
v4  a new member gets an id and must come again with it (MEMBER_ID_REQUIRED)
v5  static members (KIP-345)
v9  the leader of a group that goes on as it is may skip the assignment (KIP-814)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.answers import UNKNOWN_MEMBER, not_joined
from klamm.coordinator.group.classic.member import Client
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from klamm.server.authorization.rights import READ_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked


def handle(request: JoinGroupRequest, call: Call) -> Message | Parked:
    call.require(READ_GROUP, request.group_id)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    settings = call.broker.settings.group
    shortest = settings.group_min_session_timeout_ms
    if not shortest <= request.session_timeout_ms <= settings.group_max_session_timeout_ms:
        raise ApiError(ErrorCode.INVALID_SESSION_TIMEOUT)
    client = Client(call.client_id or "", f"/{call.peer_host}")
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.classic.join(
            request, client, version=call.version, token=token, now=call.now
        ),
    )


def fail(request: JoinGroupRequest, error: ApiError, version: int) -> JoinGroupResponse:
    is_ours = error.code in (ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT)
    return not_joined(error.code, request.member_id if is_ours else UNKNOWN_MEMBER, version)
