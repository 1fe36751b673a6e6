"""MarkerChannels: the markers of transactions on their way to the brokers that lead their partitions (WriteTxnMarkers).

One request at a time goes to each broker; what comes up meanwhile goes with the next. Each marker is heard of once for each of
its partitions; what to do about one that was not written only its sender knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from klamm.protocol.records.control import EndMarker
from klamm.server.peers.channel import PeerChannel
from klamm.server.peers.peers import Peers

# One request's: the other side holds them in memory until all are replicated.
_MOST_PARTITIONS = 10_000

# Hears how it went with each partition.
Heard = Callable[[dict[TopicPartition, ErrorCode]], None]


class Order(NamedTuple):
    marker: EndMarker
    producer: Producer
    client_version: int
    partitions: Sequence[TopicPartition]
    heard: Heard


class MarkerChannels:
    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._channels: dict[int, PeerChannel] = {}
        self._queues: dict[int, list[Order]] = {}
        # The brokers that a request is under way to, or about to be.
        self._busy: set[int] = set()

    def write(self, broker_id: int, order: Order) -> None:
        """`heard` is called once, after this returned."""
        self._queues.setdefault(broker_id, []).append(order)
        if broker_id not in self._busy:
            self._busy.add(broker_id)
            # What is decided in the same turn goes in the same request.
            asyncio.get_running_loop().call_soon(self._send, broker_id)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()

    def _send(self, broker_id: int) -> None:
        orders = self._take(broker_id)
        if not orders:
            self._busy.discard(broker_id)
            return
        try:
            channel = self._channel(broker_id)
        except ApiError as e:
            self._heard(broker_id, orders, e.code)
            return
        request = WriteTxnMarkersRequest(markers=[_marker(each) for each in orders])
        channel.send(request, partial(self._heard, broker_id, orders))

    def _take(self, broker_id: int) -> list[Order]:
        """Each producer once: the answer tells them apart by nothing else."""
        waiting = self._queues.pop(broker_id, [])
        taken: dict[int, Order] = {}
        room = _MOST_PARTITIONS
        for at, order in enumerate(waiting):
            if order.producer.id in taken or (taken and len(order.partitions) > room):
                self._queues[broker_id] = waiting[at:]
                break
            taken[order.producer.id] = order
            room -= len(order.partitions)
        return list(taken.values())

    def _channel(self, broker_id: int) -> PeerChannel:
        address = self._peers.address_of(broker_id)
        channel = self._channels.get(broker_id)
        if channel is not None and (channel.host, channel.port) != address:
            channel.close()
            channel = None
        if channel is None:
            channel = self._channels[broker_id] = self._peers.open(broker_id)
        return channel

    def _heard(
        self,
        broker_id: int,
        orders: Iterable[Order],
        answer: WriteTxnMarkersResponse | ErrorCode | None,
    ) -> None:
        found: dict[tuple[int, TopicPartition], ErrorCode] = {}
        missing = ErrorCode.NETWORK_EXCEPTION
        if isinstance(answer, WriteTxnMarkersResponse):
            # What it does not tell of it has not done.
            missing = ErrorCode.UNKNOWN_SERVER_ERROR
            found = {
                (marker.producer_id, TopicPartition(topic.name, each.partition_index)): code_of(
                    each.error_code
                )
                for marker in answer.markers
                for topic in marker.topics
                for each in topic.partitions
            }
        elif answer is not None:
            missing = answer
        # Before anybody hears of it: they may have more to send.
        asyncio.get_running_loop().call_soon(self._send, broker_id)
        for order in orders:
            order.heard(
                {each: found.get((order.producer.id, each), missing) for each in order.partitions}
            )


def _marker(order: Order) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=order.producer.id,
        producer_epoch=order.producer.epoch,
        transaction_result=order.marker.is_commit,
        coordinator_epoch=order.marker.coordinator_epoch,
        transaction_version=order.client_version,
        topics=[
            WritableTxnMarkerTopic(
                name=topic, partition_indexes=[each.partition for each in partitions]
            )
            for topic, partitions in groupby(sorted(order.partitions), key=lambda each: each.topic)
        ],
    )
