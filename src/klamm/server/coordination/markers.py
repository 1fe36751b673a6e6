"""Markers: how the decision about a transaction reaches the partitions that took part.

A marker is written again and again until it stands; a partition that is gone needs none. When the last one is written
the transaction's shard is told. The markers of this broker's own partitions are written in the same breath as the decision.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.records.control import EndMarker
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

if TYPE_CHECKING:
    from klamm.coordinator.transaction.endings import Ending
    from klamm.coordinator.transaction.shard import TransactionShard
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.5


def write_marker(
    broker: Broker,
    name: TopicPartition,
    marker: EndMarker,
    producer: Producer,
    *,
    client_version: int,
    now: Ms,
) -> None:
    """To a partition that this broker leads. Whoever waited for the transaction's end goes on."""
    partition = broker.replicas.get(*name)
    partition.append_marker(
        marker, producer.id, producer.epoch, client_version=client_version, now=now
    )
    broker.appended(partition)
    if name.topic == OFFSETS_TOPIC:
        broker.groups.end_transaction(name.partition, producer, marker.is_commit)


class MarkerWriter:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        # Shards that moved and have not been looked at since.
        self._moved: dict[int, TransactionShard] = {}
        self._is_writing = False
        # Transactions with a marker that could not be written, and where they belong: they wait for the next try.
        self._stuck: dict[str, tuple[int, TransactionShard]] = {}
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

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()

    def _write_all(self, index: int, shard: TransactionShard) -> None:
        home = self._broker.replicas.find(TRANSACTIONS_TOPIC, index)
        if home is None or not home.is_leader:
            return
        for ending in shard.endings(home.high_watermark):
            if self._is_stuck(ending, shard):
                continue
            written = [
                each
                for each in sorted(ending.unmarked)
                if self._is_written(each, ending, home.leader_epoch)
            ]
            if len(written) < len(ending.unmarked):
                self._stuck[ending.transactional_id] = index, shard
                self._arm()
            if written or not ending.unmarked:
                self._tell(ending, written)

    def _is_stuck(self, ending: Ending, shard: TransactionShard) -> bool:
        """A shard that was loaded anew tries at once: whoever waits for its predecessor waits in vain."""
        stuck = self._stuck.get(ending.transactional_id)
        return stuck is not None and stuck[1] is shard

    def _tell(self, ending: Ending, written: Collection[TopicPartition]) -> None:
        now = self._broker.clock.now()
        self._broker.transactions.tell(
            ending.transactional_id,
            lambda shard, token: shard.marked(
                ending.transactional_id, ending.producer, written, token, now
            ),
        )

    def _is_written(self, name: TopicPartition, ending: Ending, coordinator_epoch: int) -> bool:
        """Also if it need not be written any more."""
        if self._broker.image.partition(*name) is None:
            return True
        try:
            write_marker(
                self._broker,
                name,
                EndMarker(ending.is_commit, coordinator_epoch),
                ending.producer,
                client_version=ending.client_version,
                now=self._broker.clock.wall(),
            )
        except ApiError as e:
            # Deviation: Kafka leaves a transaction open for ever that one partition knows a newer epoch of.
            is_over = e.code == ErrorCode.INVALID_PRODUCER_EPOCH
            log.log(
                logging.WARNING if is_over else logging.INFO,
                "a marker was not written: partition=%s transaction=%s producer=%s reason=%s",
                name,
                ending.transactional_id,
                ending.producer,
                e,
            )
            return is_over
        return True

    def _arm(self) -> None:
        if self._retry is None:
            loop = asyncio.get_running_loop()
            self._retry = loop.call_later(_RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        waiting = dict(self._stuck.values())
        self._stuck.clear()
        loaded = self._broker.transactions.shards()
        for index, shard in waiting.items():
            # One that was given up meanwhile is loaded elsewhere, or anew, and its successor goes on.
            if any(each is shard for each in loaded):
                self.progress(index, shard)
