"""AlterPartitionReassignments (45), v0-1: replicas move to other brokers, or a move is taken back (KIP-455).

The controller decides; the answer comes when the move has begun, not when it is over.
v1  whether the replication factor may change (KIP-860)
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(
    request: AlterPartitionReassignmentsRequest, call: Call
) -> AlterPartitionReassignmentsResponse:
    call.require(ALTER_CLUSTER)
    refuse_too_many(sum(1 + len(topic.partitions) for topic in request.topics))
    answer: AlterPartitionReassignmentsResponse = await call.forward(request)
    return answer


def fail(
    request: AlterPartitionReassignmentsRequest, error: ApiError, version: int
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=each.partition_index,
                        error_code=error.code,
                        error_message=error.message,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
