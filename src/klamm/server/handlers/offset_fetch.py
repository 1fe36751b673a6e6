"""OffsetFetch (9), v1-10: how far groups have read.

v2   all topics of a group; an error for the group as a whole
v7   require_stable: offsets that an open transaction may change are answered UNSTABLE_OFFSET_COMMIT (KIP-447)
v8   several groups in one request
v9   the member and its epoch (KIP-848)
v10  topics by id
"""

from __future__ import annotations

from functools import partial

from klamm.base.errors import ApiError
from klamm.base.token import Token
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome, Reply
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from klamm.server.authorization.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_GROUP_ERRORS = 2
_MANY_GROUPS = 8
_NO_OFFSET = -1


def handle(request: OffsetFetchRequest, call: Call) -> Message | Parked:
    groups = request.groups if call.version >= _MANY_GROUPS else [_only_group(request)]
    denied = call.denied(DESCRIBE_GROUP, (group.group_id for group in groups))
    allowed = [group for group in groups if group.group_id not in denied]
    refused = [_without_denied_topics(group, call) for group in allowed]

    def fetch(asked: OffsetFetchRequestGroup, shard: GroupShard, token: Token) -> Outcome:
        found = shard.offsets.fetch(
            asked, version=call.version, require_stable=request.require_stable
        )
        return Outcome(replies=((token, found),))

    def join(replies: list[Reply]) -> OffsetFetchResponse:
        found = []
        for asked, reply, topics in zip(allowed, replies, refused, strict=True):
            if isinstance(reply, ApiError):
                reply = OffsetFetchResponseGroup(group_id=asked.group_id, error_code=reply.code)
            assert isinstance(reply, OffsetFetchResponseGroup)
            if asked.topics is None:
                _hide_denied_topics(reply, call)
            reply.topics += topics
            found.append(reply)
        found += [
            OffsetFetchResponseGroup(group_id=group.group_id, error_code=DESCRIBE_GROUP.error)
            for group in groups
            if group.group_id in denied
        ]
        return _response(request, found, call.version)

    questions = [(asked.group_id, partial(fetch, asked)) for asked in allowed]
    return call.broker.groups.ask_each(questions, request, call, join, is_read=True)


def _without_denied_topics(
    group: OffsetFetchRequestGroup, call: Call
) -> list[OffsetFetchResponseTopics]:
    """Takes out of the question what the client may not see; what it is told of that instead."""
    topics = group.topics or []
    denied = call.denied(DESCRIBE_TOPIC, filter(None, (_name(topic, call) for topic in topics)))
    if not denied:
        return []
    group.topics = [topic for topic in topics if _name(topic, call) not in denied]
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=_NO_OFFSET,
                    error_code=DESCRIBE_TOPIC.error,
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in topics
        if _name(topic, call) in denied
    ]


def _hide_denied_topics(group: OffsetFetchResponseGroup, call: Call) -> None:
    """Who asks for all is not told that there are some that it may not see."""
    names = filter(None, (_name(topic, call) for topic in group.topics))
    denied = call.denied(DESCRIBE_TOPIC, names, quietly=True)
    if denied:
        group.topics = [topic for topic in group.topics if _name(topic, call) not in denied]


def _name(topic: OffsetFetchRequestTopics | OffsetFetchResponseTopics, call: Call) -> str:
    """Empty for an id that is not known."""
    if topic.name:
        return topic.name
    known = call.broker.image.topics_by_id.get(topic.topic_id)
    return "" if known is None else known.name


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _response(
    request: OffsetFetchRequest, found: list[OffsetFetchResponseGroup], version: int
) -> OffsetFetchResponse:
    if version >= _MANY_GROUPS:
        return OffsetFetchResponse(groups=found)
    group = found[0]
    if group.error_code and version < _GROUP_ERRORS:
        return OffsetFetchResponse(topics=_failed_topics(request, group.error_code))
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        metadata=p.metadata,
                        error_code=p.error_code,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def _failed_topics(request: OffsetFetchRequest, error_code: int) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=_NO_OFFSET, error_code=error_code
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]


def fail(request: OffsetFetchRequest, error: ApiError, version: int) -> OffsetFetchResponse:
    groups = request.groups if version >= _MANY_GROUPS else [_only_group(request)]
    found = [OffsetFetchResponseGroup(group_id=g.group_id, error_code=error.code) for g in groups]
    return _response(request, found, version)
