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
from klamm.server.authorization.rights import READ_TOPIC
from klamm.server.call import Call, Steps

# Deviation: Kafka answers whatever is asked, the same partition again and again if it must be.
_MOST_PRODUCERS = 100_000


def handle(request: DescribeProducersRequest, call: Call) -> Steps:
    left = _MOST_PRODUCERS
    denied = call.denied(READ_TOPIC, (topic.name for topic in request.topics))
    response = DescribeProducersResponse()
    for topic in request.topics:
        yield
        answer = TopicResponse(name=topic.name)
        response.topics.append(answer)
        if topic.name in denied:
            answer.partitions = [
                PartitionResponse(
                    partition_index=index,
                    error_code=READ_TOPIC.error,
                    error_message=READ_TOPIC.error.text,
                )
                for index in topic.partition_indexes
            ]
            continue
        for index in topic.partition_indexes:
            partition = _answer(topic.name, index, call)
            answer.partitions.append(partition)
            left -= 1 + len(partition.active_producers)
            if left < 0:
                raise ApiError(ErrorCode.INVALID_REQUEST)
            yield
    return response


def _answer(topic: str, index: int, call: Call) -> PartitionResponse:
    try:
        if problem := problem_of_name(topic):
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
        partition = call.broker.replicas.get(topic, index)
        # A follower's are worth a look as well: Kafka's tool for hanging transactions asks the broker that is named.
        partition.check_replica_of(-1)
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
