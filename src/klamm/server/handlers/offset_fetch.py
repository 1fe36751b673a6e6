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
    OffsetFetchResponseTopic,
)
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_GROUP_ERRORS = 2
_MANY_GROUPS = 8
_NO_OFFSET = -1


def handle(request: OffsetFetchRequest, call: Call) -> Message | Parked:
    groups = request.groups if call.version >= _MANY_GROUPS else [_only_group(request)]

    def fetch(asked: OffsetFetchRequestGroup, shard: GroupShard, token: Token) -> Outcome:
        found = shard.offsets.fetch(
            asked, version=call.version, require_stable=request.require_stable
        )
        return Outcome(replies=((token, found),))

    def join(replies: list[Reply]) -> OffsetFetchResponse:
        found = []
        for asked, reply in zip(groups, replies, strict=True):
            if isinstance(reply, ApiError):
                reply = OffsetFetchResponseGroup(group_id=asked.group_id, error_code=reply.code)
            assert isinstance(reply, OffsetFetchResponseGroup)
            found.append(reply)
        return _response(request, found, call.version)

    questions = [(asked.group_id, partial(fetch, asked)) for asked in groups]
    return call.broker.groups.ask_each(questions, request, call, join, is_read=True)


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
