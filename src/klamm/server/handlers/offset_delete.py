"""OffsetDelete (47), v0: forget some of a group's offsets. Not those of topics that its members are subscribed to."""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.base.token import Token
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome, Reply
from klamm.protocol.declare import altered
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from klamm.server.authorization.rights import DELETE_GROUP, READ_TOPIC
from klamm.server.call import Call, Message, Steps
from klamm.server.network.pending import Parked


def handle(request: OffsetDeleteRequest, call: Call) -> Message | Parked | Steps:
    call.require(DELETE_GROUP, request.group_id)
    denied = call.denied(READ_TOPIC, (topic.name for topic in request.topics))
    refused = [_refused(topic) for topic in request.topics if topic.name in denied]
    allowed = request
    if denied:
        topics = [topic for topic in request.topics if topic.name not in denied]
        allowed = altered(request, topics=topics)

    def delete(shard: GroupShard, token: Token) -> Outcome:
        return shard.offsets.delete(allowed, token=token)

    def join(replies: list[Reply]) -> OffsetDeleteResponse:
        (reply,) = replies
        if isinstance(reply, ApiError):
            return OffsetDeleteResponse(error_code=reply.code)
        assert isinstance(reply, OffsetDeleteResponse)
        reply.topics += refused
        return reply

    return call.broker.groups.ask_each([(request.group_id, delete)], request, call, join)


def _refused(topic: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            OffsetDeleteResponsePartition(
                partition_index=p.partition_index, error_code=READ_TOPIC.error
            )
            for p in topic.partitions
        ],
    )
