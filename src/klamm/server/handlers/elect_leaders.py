"""ElectLeaders (43), v0-2: another leader for partitions: the first of their replicas, or any that lives (KIP-460).

The controller decides; the answer waits until its records are committed.
v1  the kind of election; an error for the request as a whole
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    call.require(ALTER_CLUSTER)
    refuse_too_many(sum(1 + len(topic.partitions) for topic in request.topic_partitions or ()))
    answer: ElectLeadersResponse = await call.forward(request)
    return answer


def fail(request: ElectLeadersRequest, error: ApiError, version: int) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index, error_code=error.code, error_message=error.message
                    )
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )
