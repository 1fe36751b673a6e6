"""DeleteRecords (21), v0-2: forget everything in a partition below an offset; -1 means below the high watermark.

It is answered when all living replicas have done so.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from klamm.server.authorization.rights import DELETE_TOPIC
from klamm.server.call import Call, Steps
from klamm.server.network.pending import PARKED
from klamm.server.replication.delayed_deletion import DelayedDeletion, Undeleted

_PARKED_COST = 512


def handle(request: DeleteRecordsRequest, call: Call) -> Steps:
    response = DeleteRecordsResponse()
    waiting: list[Undeleted] = []
    denied = call.denied(DELETE_TOPIC, (topic.name for topic in request.topics))
    for topic in request.topics:
        yield
        result = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(result)
        if topic.name in denied:
            result.partitions = [
                _refused(p.partition_index, DELETE_TOPIC.error) for p in topic.partitions
            ]
            continue
        for p in topic.partitions:
            result.partitions.append(_delete(topic.name, p, call, waiting))
            yield
    if not waiting:
        return response
    call.connection.hold(_PARKED_COST * len(waiting))
    deletion = DelayedDeletion(call, response, waiting)
    call.connection.on_lost = deletion.abandon
    deadline = call.broker.clock.monotonic() + request.timeout_ms
    call.broker.waiting.park_deletion(deletion, deadline)
    return PARKED


def _delete(
    topic: str, asked: DeleteRecordsPartition, call: Call, waiting: list[Undeleted]
) -> DeleteRecordsPartitionResult:
    index = asked.partition_index
    try:
        partition = call.broker.replicas.get(topic, index)
        if "delete" not in partition.settings.cleanup_policy:
            raise ApiError(ErrorCode.POLICY_VIOLATION)
        target = partition.high_watermark if asked.offset == -1 else asked.offset
        low_watermark = partition.delete_records(asked.offset)
    except ApiError as e:
        return _refused(index, e.code)
    result = DeleteRecordsPartitionResult(partition_index=index, low_watermark=low_watermark)
    if low_watermark < target:
        waiting.append(Undeleted(partition, target, result))
        # Followers hear of it with their next fetch.
        call.broker.backlogs.learned(partition)
    return result


def _refused(index: int, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=code)
