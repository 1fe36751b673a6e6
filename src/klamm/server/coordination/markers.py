"""Markers: how the decision about a transaction reaches the partitions that took part.

Those of this broker's own partitions are written in the same breath as the decision, others by way of the brokers that lead
them (peers/marker_channel.py). A marker counts when it is replicated: one that only its leader has is gone with it, and the
transaction would stay open for ever. So each is written again and again until it stands; a partition that is gone needs none.
When the last one stands the transaction's shard is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer, Reply
from klamm.protocol.records.control import EndMarker
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from klamm.server.peers.marker_channel import Order, marker_channels

if TYPE_CHECKING:
    from klamm.coordinator.transaction.endings import Ending
    from klamm.coordinator.transaction.shard import TransactionShard
    from klamm.replication.partition import Partition
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.1


def write_marker(
    broker: Broker,
    name: TopicPartition,
    marker: EndMarker,
    producer: Producer,
    *,
    client_version: int,
    now: Ms,
    told: Callable[[ErrorCode], None],
) -> None:
    """To a partition that this broker leads. Whoever waited for the transaction's end goes on. `told` hears that it is
    replicated, or why it is not: perhaps before this returns."""
    try:
        partition = broker.replicas.get(*name)
        appended = partition.append_marker(
            marker, producer.id, producer.epoch, client_version=client_version, now=now
        )
    except ApiError as e:
        told(e.code)
        return
    broker.appended(partition)
    if name.topic == OFFSETS_TOPIC:
        broker.groups.end_transaction(name.partition, producer, marker.is_commit)
    end = appended.base_offset + 1
    if partition.high_watermark >= end:
        told(ErrorCode.NONE)
    else:
        timeout_ms = broker.settings.network.request_timeout_ms
        broker.await_commit(_Unreplicated(told), [(partition, end)], timeout_ms)


class _Unreplicated:
    """A marker that stands on this broker only. Implements replication.acks.Waiter."""

    __slots__ = ("_told",)

    def __init__(self, told: Callable[[ErrorCode], None]) -> None:
        self._told = told

    def heard(self, partition: Partition, code: int) -> None:
        self._told(code_of(code))

    def timed_out(self) -> None:
        self._told(ErrorCode.REQUEST_TIMED_OUT)


class _Way:
    """The markers of one decision."""

    __slots__ = ("index", "is_logged", "left", "offset", "resting", "shard", "under_way", "written")

    def __init__(self, index: int, shard: TransactionShard, ending: Ending) -> None:
        self.index = index
        self.shard = shard
        # Of the decision: the next one of the same producer has another.
        self.offset = ending.offset
        self.left = set(ending.unmarked)
        # Sent, and not heard of; or given up.
        self.under_way: set[TopicPartition] = set()
        # Could not be written; each waits for the next try.
        self.resting: set[TopicPartition] = set()
        # Written, and the shard has not taken notice yet.
        self.written: dict[TopicPartition, None] = {}
        self.is_logged = False

    def to_write(self) -> list[TopicPartition]:
        return sorted(self.left - self.under_way - self.resting)


class MarkerWriter:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        timeout_ms = broker.settings.network.request_timeout_ms
        self._channels = marker_channels(broker.peers, timeout_ms=timeout_ms)
        # Shards that moved and have not been looked at since.
        self._moved: dict[int, TransactionShard] = {}
        self._is_writing = False
        # By transactional id.
        self._ways: dict[str, _Way] = {}
        self._retry: asyncio.TimerHandle | None = None

    def progress(self, index: int, shard: TransactionShard) -> None:
        """Something was carried out: there may be a decision to make known."""
        self._moved[index] = shard
        if self._is_writing:
            return
        self._is_writing = True
        try:
            while self._moved:
                self._write_all(*self._moved.popitem())
        finally:
            self._is_writing = False

    def follow(self) -> None:
        """The metadata changed: what could not be written may have a leader now."""
        if self._ways:
            self._try_again()

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._channels.close()

    def _write_all(self, index: int, shard: TransactionShard) -> None:
        home = self._broker.replicas.find(TRANSACTIONS_TOPIC, index)
        if home is None or not home.is_leader:
            return
        for ending in shard.endings(home.high_watermark):
            way = self._way(index, shard, ending)
            names = way.to_write()
            if names:
                self._write(way, ending, names, home.leader_epoch)
            elif not ending.unmarked and not way.written:
                # A transaction without partitions.
                self._tell(way, ending)

    def _way(self, index: int, shard: TransactionShard, ending: Ending) -> _Way:
        way = self._ways.get(ending.transactional_id)
        # A shard that was loaded anew begins anew: whoever waits for its predecessor waits in vain.
        if way is None or way.shard is not shard or way.offset != ending.offset:
            way = self._ways[ending.transactional_id] = _Way(index, shard, ending)
        return way

    def _write(
        self, way: _Way, ending: Ending, names: Iterable[TopicPartition], coordinator_epoch: int
    ) -> None:
        broker = self._broker
        marker = EndMarker(ending.is_commit, coordinator_epoch)
        heard: dict[TopicPartition, ErrorCode] = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        is_here = True

        def told(name: TopicPartition, code: ErrorCode) -> None:
            if is_here:
                heard[name] = code
            else:
                self._heard(way, ending, {name: code})

        for name in names:
            state = broker.image.partition(*name)
            way.under_way.add(name)
            if state is None:
                heard[name] = ErrorCode.NONE
            elif state.leader == broker.node_id:
                write_marker(
                    broker,
                    name,
                    marker,
                    ending.producer,
                    client_version=ending.client_version,
                    now=broker.clock.wall(),
                    told=partial(told, name),
                )
            elif state.leader not in broker.image.brokers:
                heard[name] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                elsewhere.setdefault(state.leader, []).append(name)
        is_here = False
        for broker_id, partitions in elsewhere.items():
            self._channels.send(
                broker_id,
                Order(
                    marker,
                    ending.producer,
                    ending.client_version,
                    partitions,
                    partial(self._heard, way, ending),
                ),
            )
        if heard:
            self._heard(way, ending, heard)

    def _heard(self, way: _Way, ending: Ending, codes: Mapping[TopicPartition, ErrorCode]) -> None:
        is_new = False
        for name, code in codes.items():
            if code in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH):
                is_new = True
                way.written[name] = None
                way.left.discard(name)
            elif code is not ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                way.resting.add(name)
            # A newer coordinator has the transaction in hand: this one need not try again.
            if code is not ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                way.under_way.discard(name)
            if code:
                self._log(way, ending, name, code)
        if way.resting:
            self._arm()
        if is_new:
            self._tell(way, ending)

    def _log(self, way: _Way, ending: Ending, name: TopicPartition, code: ErrorCode) -> None:
        # Deviation: Kafka leaves a transaction open for ever that one partition knows a newer epoch of.
        is_over = code is ErrorCode.INVALID_PRODUCER_EPOCH
        if is_over or not way.is_logged:
            way.is_logged = True
            log.log(
                logging.WARNING if is_over else logging.INFO,
                "a marker was not written: partition=%s transaction=%s producer=%s reason=%s",
                name,
                ending.transactional_id,
                ending.producer,
                code.name,
            )

    def _tell(self, way: _Way, ending: Ending) -> None:
        now = self._broker.clock.now()
        written = list(way.written)

        def answered(reply: Reply) -> None:
            is_current = self._ways.get(ending.transactional_id) is way
            if isinstance(reply, ApiError) and reply.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                # It cannot write down that the transaction is over.
                self._arm()
            elif is_current and (isinstance(reply, ApiError) or not way.left):
                del self._ways[ending.transactional_id]

        self._broker.transactions.tell(
            ending.transactional_id,
            lambda shard, token: shard.marked(
                ending.transactional_id, ending.producer, written, token, now
            ),
            answered,
        )

    def _arm(self) -> None:
        if self._retry is None:
            loop = asyncio.get_running_loop()
            self._retry = loop.call_later(_RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        loaded = self._broker.transactions.shards()
        for transactional_id, way in list(self._ways.items()):
            # One that was given up meanwhile is loaded elsewhere, or anew, and its successor goes on.
            if not any(each is way.shard for each in loaded):
                if self._ways.get(transactional_id) is way:
                    del self._ways[transactional_id]
                continue
            way.resting.clear()
            ending = way.shard.ending(transactional_id)
            if ending is None or ending.offset != way.offset:
                self._ways.pop(transactional_id, None)
            elif way.written and not way.left:
                self._tell(way, ending)
            else:
                self.progress(way.index, way.shard)
