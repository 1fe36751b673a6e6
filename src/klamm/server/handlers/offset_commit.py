"""OffsetCommit (8), v2-10: store how far a group has read.

v5   the broker alone says how long offsets are kept; before, the client could
v6   leader epochs
v7   static members
v9   member epochs of KIP-848, and GROUP_ID_NOT_FOUND for a group that does not exist
v10  topics by id
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked


def handle(request: OffsetCommitRequest, call: Call) -> Message | Parked:
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.offsets.commit(
            request, version=call.version, now=call.now, token=token
        ),
    )


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
