"""MarkerChannels: the markers of transactions on their way to the brokers that lead their partitions (WriteTxnMarkers).

Each marker is heard of once, with a code for each of its partitions. What to do about one that was not written only its
sender knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode, code_of
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from klamm.protocol.records.control import EndMarker
from klamm.server.peers.batched import BatchedChannels, Kind
from klamm.server.peers.peers import Peers

# Of one request: the other side holds them in memory until all are replicated.
_MOST_PARTITIONS = 10_000


class Order(NamedTuple):
    marker: EndMarker
    producer: Producer
    client_version: int
    partitions: Sequence[TopicPartition]
    heard: Callable[[dict[TopicPartition, ErrorCode]], None]


def marker_channels(peers: Peers, *, timeout_ms: Ms) -> BatchedChannels[Order]:
    kind = Kind(
        # The answer tells markers apart by nothing else.
        key_of=lambda order: order.producer.id,
        size_of=lambda order: len(order.partitions),
        request_of=lambda orders: WriteTxnMarkersRequest(markers=[_marker(o) for o in orders]),
        heard=_heard,
    )
    return BatchedChannels(peers, kind, most=_MOST_PARTITIONS, timeout_ms=timeout_ms)


def _marker(order: Order) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=order.producer.id,
        producer_epoch=order.producer.epoch,
        transaction_result=order.marker.is_commit,
        coordinator_epoch=order.marker.coordinator_epoch,
        transaction_version=order.client_version,
        topics=[
            WritableTxnMarkerTopic(name=topic, partition_indexes=[p.partition for p in partitions])
            for topic, partitions in groupby(sorted(order.partitions), key=lambda p: p.topic)
        ],
    )


def _heard(orders: list[Order], answer: WriteTxnMarkersResponse | ErrorCode) -> None:
    found: dict[tuple[int, TopicPartition], ErrorCode] = {}
    # What an answer does not tell of is not done.
    missing = ErrorCode.UNKNOWN_SERVER_ERROR
    if isinstance(answer, ErrorCode):
        missing = answer
    else:
        for marker in answer.markers:
            for topic in marker.topics:
                for each in topic.partitions:
                    name = TopicPartition(topic.name, each.partition_index)
                    found[marker.producer_id, name] = code_of(each.error_code)
    for order in orders:
        order.heard({p: found.get((order.producer.id, p), missing) for p in order.partitions})
