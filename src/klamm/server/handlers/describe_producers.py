"""DescribeProducers (61), v0: the idempotent producers that a partition remembers."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.names import problem_of_name
from klamm.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from klamm.server.call import Call


def handle(request: DescribeProducersRequest, call: Call) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_answer(topic.name, index, call) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _answer(topic: str, index: int, call: Call) -> PartitionResponse:
    try:
        if problem := problem_of_name(topic):
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
        partition = call.broker.replicas.get(topic, index)
        partition.check_leader(-1)
    except ApiError as e:
        return PartitionResponse(partition_index=index, error_code=e.code, error_message=e.message)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=p.producer_id,
                producer_epoch=p.epoch,
                last_sequence=p.last_sequence,
                last_timestamp=p.last_timestamp,
                coordinator_epoch=p.coordinator_epoch,
                current_txn_start_offset=-1 if p.txn_first_offset is None else p.txn_first_offset,
            )
            for p in partition.log.producers
        ],
    )
