"""ListOffsets (2), v1-11: the offset for a point in time, or for a special one.

v2   read_committed sees the last stable offset as the end
v4   leader epochs, checked and answered
v5   OFFSET_NOT_AVAILABLE while a new leader does not know how far its log is committed; LEADER_NOT_AVAILABLE before
v7   -3 the record with the largest timestamp
v8   -4 the earliest offset on this broker: there is no tiered storage, so it is the log's start
v9   -5 the end of what is tiered, v11: -6 the start of what is not yet tiered: neither exists here
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from klamm.replication.partition import Partition
from klamm.server.authorization.rights import DESCRIBE_TOPIC
from klamm.server.call import Call, Steps

_FIRST_WITH_NOT_AVAILABLE = 5
_LATEST = -1
_EARLIEST = -2
_MAX_TIMESTAMP = -3
_EARLIEST_LOCAL = -4
_LATEST_TIERED = -5
_EARLIEST_PENDING_UPLOAD = -6
# The first version that knows each special timestamp.
_SINCE = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9, _EARLIEST_PENDING_UPLOAD: 11}


class _Found(NamedTuple):
    offset: int
    timestamp: int = -1
    epoch: int = -1


_NOTHING = _Found(-1)


def handle(request: ListOffsetsRequest, call: Call) -> Steps:
    asked = Counter(
        (topic.name, p.partition_index) for topic in request.topics for p in topic.partitions
    )
    twice = {pair for pair, count in asked.items() if count > 1}
    denied = call.denied(DESCRIBE_TOPIC, (topic.name for topic in request.topics))
    response = ListOffsetsResponse()
    for topic in request.topics:
        yield
        answer = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answer)
        if topic.name in denied:
            answer.partitions = [
                ListOffsetsPartitionResponse(
                    partition_index=p.partition_index, error_code=DESCRIBE_TOPIC.error
                )
                for p in topic.partitions
            ]
            continue
        for p in topic.partitions:
            is_twice = (topic.name, p.partition_index) in twice
            answer.partitions.append(_answer(request, topic.name, p, call, is_twice=is_twice))
            yield
    return response


def _answer(
    request: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    call: Call,
    *,
    is_twice: bool,
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    try:
        if is_twice or request.isolation_level not in (0, 1):
            raise ApiError(ErrorCode.INVALID_REQUEST)
        if asked.timestamp < 0 and call.version < _SINCE.get(
            asked.timestamp, 0 if asked.timestamp >= -2 else 99
        ):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        partition = call.broker.replicas.get(topic, index)
        partition.check_leader(asked.current_leader_epoch if call.version >= 4 else -1)
        end = (
            partition.log.end_offset
            if request.replica_id >= 0
            else partition.visible_end(request.isolation_level)
        )
        found = _find(partition, asked.timestamp, end)
    except ApiError as e:
        code = e.code
        if code == ErrorCode.OFFSET_NOT_AVAILABLE and call.version < _FIRST_WITH_NOT_AVAILABLE:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    return ListOffsetsPartitionResponse(
        partition_index=index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.epoch,
    )


def _find(partition: Partition, timestamp: int, end: int) -> _Found:
    log = partition.log
    # Deviation: Kafka holds the last stable offset against the epoch's start, too, and so refuses readers of committed data
    # for as long as a transaction from before the epoch is open.
    is_known = end == log.end_offset or not partition.is_behind_epoch
    if timestamp == _LATEST:
        if not is_known:
            raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE)
        return _Found(end, epoch=partition.leader_epoch)
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        epoch = log.epochs.epoch_of(log.start_offset)
        return _Found(log.start_offset, epoch=-1 if epoch is None else epoch)
    if timestamp in (_LATEST_TIERED, _EARLIEST_PENDING_UPLOAD):
        return _NOTHING
    found = (
        partition.max_timestamp()
        if timestamp == _MAX_TIMESTAMP
        else partition.offset_for_timestamp(timestamp)
    )
    if found is None or (timestamp >= 0 and found.offset >= end):
        if not is_known:
            raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE)
        return _NOTHING
    return _Found(found.offset, found.timestamp, found.leader_epoch)
