"""SyncGroup (14), v0-5: the leader hands in the assignment of a round, everybody gets its part.

v3  static members
v5  the client says which protocol it means
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.sync_group import SyncGroupRequest
from klamm.server.authorization.rights import READ_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_NAMES_PROTOCOL = 5


def handle(request: SyncGroupRequest, call: Call) -> Message | Parked:
    if call.version >= _NAMES_PROTOCOL and not (request.protocol_type and request.protocol_name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    call.require(READ_GROUP, request.group_id)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.classic.sync(request, token=token, now=call.now),
    )
