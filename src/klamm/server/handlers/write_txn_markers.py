"""WriteTxnMarkers (27), v1-2: write the ends of transactions to partitions of this broker.

A transaction's coordinator sends it; an operator may, to end a transaction that hangs. Answered when all are replicated.
v2  says which transaction.version the transaction was written with (KIP-1228), and so how strict to be with its epoch
"""

from __future__ import annotations

from collections.abc import Callable

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from klamm.protocol.records.control import EndMarker
from klamm.server.authorization.rights import ALTER_CLUSTER, CLUSTER_ACTION
from klamm.server.call import Call, Steps
from klamm.server.coordination.markers import write_marker
from klamm.server.network.pending import PARKED

# About what a parked request takes in memory.
_PARKED_COST = 2_048


class _Answer:
    """Told when every marker is replicated, or why one is not."""

    def __init__(self) -> None:
        self._codes: dict[tuple[int, TopicPartition], ErrorCode] = {}
        self._missing = 0
        self._complete: Callable[[], None] | None = None

    def expect(self, place: int, name: TopicPartition) -> Callable[[ErrorCode], None]:
        self._missing += 1

        def told(code: ErrorCode) -> None:
            self._codes[place, name] = code
            self._missing -= 1
            if not self._missing and self._complete is not None:
                self._complete()

        return told

    def when_complete(self, complete: Callable[[], None]) -> bool:
        """True if it is so already; else `complete` hears of it."""
        self._complete = complete
        return not self._missing

    def response(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index,
                                    error_code=self._codes[
                                        place, TopicPartition(topic.name, index)
                                    ],
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for place, marker in enumerate(request.markers)
            ]
        )


def handle(request: WriteTxnMarkersRequest, call: Call) -> Steps:
    # A coordinator has the one right, an operator who ends what hangs the other.
    if not call.may(ALTER_CLUSTER, quietly=True):
        call.require(CLUSTER_ACTION)
    # Nodes of the cluster have no quota as clients.
    call.quota = None
    return _write(request, call)


def fail(request: WriteTxnMarkersRequest, error: ApiError, version: int) -> WriteTxnMarkersResponse:
    answer = _Answer()
    for place, marker in enumerate(request.markers):
        for topic in marker.topics:
            for index in topic.partition_indexes:
                answer.expect(place, TopicPartition(topic.name, index))(error.code)
    return answer.response(request)


def _write(request: WriteTxnMarkersRequest, call: Call) -> Steps:
    answer = _Answer()
    for place, marker in enumerate(request.markers):
        for topic in marker.topics:
            for index in topic.partition_indexes:
                name = TopicPartition(topic.name, index)
                write_marker(
                    call.broker,
                    name,
                    EndMarker(marker.transaction_result, marker.coordinator_epoch),
                    Producer(marker.producer_id, marker.producer_epoch),
                    client_version=marker.transaction_version,
                    now=call.now.wall,
                    told=answer.expect(place, name),
                )
                yield
    if answer.when_complete(lambda: call.finish(answer.response(request))):
        return answer.response(request)
    call.connection.hold(_PARKED_COST)
    return PARKED
