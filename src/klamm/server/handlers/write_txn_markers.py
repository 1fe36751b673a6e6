"""WriteTxnMarkers (27), v1-2: write the ends of transactions to partitions of this broker.

A transaction's coordinator sends it; an operator may, to end a transaction that hangs.
v2  says which transaction.version the transaction was written with (KIP-1228), and so how strict to be with its epoch
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from klamm.protocol.records.control import EndMarker
from klamm.server.call import Call, Steps
from klamm.server.coordination.markers import write_marker


def handle(request: WriteTxnMarkersRequest, call: Call) -> Steps:
    response = WriteTxnMarkersResponse()
    for marker in request.markers:
        result = WritableTxnMarkerResult(producer_id=marker.producer_id)
        response.markers.append(result)
        for topic in marker.topics:
            answer = WritableTxnMarkerTopicResult(name=topic.name)
            result.topics.append(answer)
            for index in topic.partition_indexes:
                code = _write(marker, TopicPartition(topic.name, index), call)
                answer.partitions.append(
                    WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                )
                yield
    return response


def _write(marker: WritableTxnMarker, name: TopicPartition, call: Call) -> ErrorCode:
    try:
        write_marker(
            call.broker,
            name,
            EndMarker(marker.transaction_result, marker.coordinator_epoch),
            Producer(marker.producer_id, marker.producer_epoch),
            client_version=marker.transaction_version,
            now=call.now.wall,
        )
    except ApiError as e:
        return e.code
    return ErrorCode.NONE
