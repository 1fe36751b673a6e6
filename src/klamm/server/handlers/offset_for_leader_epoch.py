"""OffsetForLeaderEpoch (23), v2-4: where a leader epoch ends in this log, so that a client can notice lost records."""

from __future__ import annotations

from collections.abc import Collection

from klamm.base.errors import ApiError
from klamm.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from klamm.server.authorization.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from klamm.server.call import Call, Steps


def handle(request: OffsetForLeaderEpochRequest, call: Call) -> Steps:
    denied: Collection[str] = ()
    if not call.may(CLUSTER_ACTION, quietly=True):
        denied = call.denied(DESCRIBE_TOPIC, (topic.topic for topic in request.topics))
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        yield
        result = OffsetForLeaderTopicResult(topic=topic.topic)
        response.topics.append(result)
        if topic.topic in denied:
            result.partitions = [
                EpochEndOffset(error_code=DESCRIBE_TOPIC.error, partition=p.partition)
                for p in topic.partitions
            ]
            continue
        for p in topic.partitions:
            result.partitions.append(_answer(topic.topic, p, call))
            yield
    return response


def _answer(topic: str, asked: OffsetForLeaderPartition, call: Call) -> EpochEndOffset:
    try:
        partition = call.broker.replicas.get(topic, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
    except ApiError as e:
        return EpochEndOffset(error_code=e.code, partition=asked.partition)
    epoch, end_offset = partition.end_of_epoch(asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)
