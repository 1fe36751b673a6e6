"""A record as a consumer gives it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from klamm.base.ids import TopicPartition
from klamm.protocol.records.reader import Header

K = TypeVar("K")
V = TypeVar("V")


class ConsumerRecord(NamedTuple, Generic[K, V]):
    topic: str
    partition: int
    offset: int
    timestamp: int
    # False: the time is the producer's; True: the broker's.
    is_log_append_time: bool
    key: K
    value: V
    headers: Sequence[Header]
    leader_epoch: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
