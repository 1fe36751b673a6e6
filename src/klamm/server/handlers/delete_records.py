"""DeleteRecords (21), v0-2: forget everything in a partition below an offset; -1 means below the high watermark."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from klamm.server.call import Call, Steps


def handle(request: DeleteRecordsRequest, call: Call) -> Steps:
    response = DeleteRecordsResponse()
    for topic in request.topics:
        yield
        result = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(result)
        for p in topic.partitions:
            result.partitions.append(_delete(topic.name, p, call))
            yield
    return response


def _delete(topic: str, asked: DeleteRecordsPartition, call: Call) -> DeleteRecordsPartitionResult:
    index = asked.partition_index
    try:
        partition = call.broker.replicas.get(topic, index)
        if "delete" not in partition.settings.cleanup_policy:
            raise ApiError(ErrorCode.POLICY_VIOLATION)
        low_watermark = partition.delete_records(asked.offset)
    except ApiError as e:
        return DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=-1, error_code=e.code
        )
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=low_watermark)
