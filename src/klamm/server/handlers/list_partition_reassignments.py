"""ListPartitionReassignments (46), v0: which partitions are on their way to other brokers (KIP-455)."""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from klamm.server.authorization.rights import DESCRIBE_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(
    request: ListPartitionReassignmentsRequest, call: Call
) -> ListPartitionReassignmentsResponse:
    call.require(DESCRIBE_CLUSTER)
    refuse_too_many(sum(1 + len(topic.partition_indexes) for topic in request.topics or ()))
    answer: ListPartitionReassignmentsResponse = await call.forward(request)
    return answer


def fail(
    request: ListPartitionReassignmentsRequest, error: ApiError, version: int
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)
