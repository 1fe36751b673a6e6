"""OffsetCommit (8), v2-10: store how far a group has read.

v5   the broker alone says how long offsets are kept; before, the client could
v6   leader epochs
v7   static members
v9   member epochs of KIP-848, and GROUP_ID_NOT_FOUND for a group that does not exist
v10  topics by id
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.base.token import Token
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome, Reply
from klamm.protocol.declare import altered
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from klamm.server.authorization.rights import READ_GROUP, READ_TOPIC
from klamm.server.call import Call, Message, Steps
from klamm.server.network.pending import Parked

_FIRST_WITH_TOPIC_IDS = 10


def handle(request: OffsetCommitRequest, call: Call) -> Message | Parked | Steps:
    call.require(READ_GROUP, request.group_id)
    denied = call.denied(READ_TOPIC, filter(None, (_name(t, call) for t in request.topics)))
    allowed, refused = request, OffsetCommitResponse()
    if denied:
        refused_topics = [topic for topic in request.topics if _name(topic, call) in denied]
        refused = fail(
            altered(request, topics=refused_topics), ApiError(READ_TOPIC.error), call.version
        )
        allowed_topics = [topic for topic in request.topics if _name(topic, call) not in denied]
        allowed = altered(request, topics=allowed_topics)
        if not allowed_topics:
            return refused

    def commit(shard: GroupShard, token: Token) -> Outcome:
        return shard.offsets.commit(allowed, version=call.version, now=call.now, token=token)

    def join(replies: list[Reply]) -> OffsetCommitResponse:
        (reply,) = replies
        answer = fail(allowed, reply, call.version) if isinstance(reply, ApiError) else reply
        assert isinstance(answer, OffsetCommitResponse)
        answer.topics += refused.topics
        return answer

    if not denied:
        return call.broker.groups.ask(request.group_id, request, call, commit)
    return call.broker.groups.ask_each([(request.group_id, commit)], request, call, join)


def _name(topic: OffsetCommitRequestTopic, call: Call) -> str:
    """Empty for an id that is not known."""
    if call.version < _FIRST_WITH_TOPIC_IDS:
        return topic.name
    known = call.broker.image.topics_by_id.get(topic.topic_id)
    return "" if known is None else known.name


def fail(request: OffsetCommitRequest, error: ApiError, version: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index, error_code=error.code
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
