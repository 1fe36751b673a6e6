"""ConsumerGroupHeartbeat (68), v0-1: a member of a consumer group joins, lives and leaves, and gets its assignment.

v1  patterns can be subscribed to; the client makes its member id itself (KIP-1082)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.member import Client
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from klamm.server.authorization.rights import DESCRIBE_TOPIC, READ_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_PROTOCOL = "consumer"


def handle(request: ConsumerGroupHeartbeatRequest, call: Call) -> Message | Parked:
    if _PROTOCOL not in call.broker.settings.group.group_coordinator_rebalance_protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    call.require(READ_GROUP, request.group_id)
    if call.denied(DESCRIBE_TOPIC, request.subscribed_topic_names or ()):
        raise ApiError(DESCRIBE_TOPIC.error)
    client = Client(call.client_id or "", f"/{call.peer_host}", call.seer(DESCRIBE_TOPIC))
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.consumer.heartbeat(
            request, client, version=call.version, token=token, now=call.now
        ),
        # It asks itself before it writes: a heartbeat that finds all well keeps the session.
        is_read=True,
    )


def fail(
    request: ConsumerGroupHeartbeatRequest, error: ApiError, version: int
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
