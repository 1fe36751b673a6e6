"""The straight path for the start or the end of one partition.

Consumers that measure their lag ask for both again and again: Java's consumer inside Spark twice for every 500 records.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from klamm.replication.partition import Partition
from klamm.server.authorization.rights import DESCRIBE_TOPIC
from klamm.server.network.outgoing import Answer
from klamm.server.straight.routes import find_by_name

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.network.connection import Connection

_FIRST_FLEXIBLE = 6
_FIRST_WITH_TIMEOUT = 10
_LAST = 11
_LATEST, _EARLIEST = -1, -2

# No tags of the header, replica id, isolation level, count of topics (plus one).
_START = Struct(">BibB")
_CONSUMER = -1
# Leader epoch, timestamp; no tags of partition and topic.
_REST = Struct(">iqH")
_NO_TAGS = 1
_TIMEOUT = 4


class _Route:
    __slots__ = ("answer", "partition", "raw")

    def __init__(self, partition: Partition, raw: bytes) -> None:
        self.partition = partition
        self.raw = raw
        # Size, correlation id, no tags, throttle time; one topic: raw; error, timestamp, offset, epoch; no tags of
        # partition, topic and answer.
        self.answer = Struct(f">iiBiB{len(raw)}shqqi3x")


class StraightListOffsets:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._authorization = broker.authorization
        self._routes: dict[bytes, _Route] = {}
        broker.on_partitions_changed(self._routes.clear)

    def answer(
        self,
        connection: Connection,
        frame: memoryview,
        version: int,
        correlation_id: int,
        client_size: int,
    ) -> Answer | None:
        if not _FIRST_FLEXIBLE <= version <= _LAST or client_size < 0:
            return None
        at = 10 + client_size
        raw_at = at + _START.size
        if len(frame) <= raw_at:
            return None
        # The topic's name, one partition (count plus one) and its index, as in a fetch.
        rest_at = raw_at + frame[raw_at] + 5
        end = rest_at + _REST.size + _NO_TAGS
        if version >= _FIRST_WITH_TIMEOUT:
            end += _TIMEOUT
        if len(frame) != end or frame[-1]:
            return None
        header_tags, replica, isolation, topics = _START.unpack_from(frame, at)
        leader_epoch, timestamp, tags = _REST.unpack_from(frame, rest_at)
        if (
            header_tags
            or replica != _CONSUMER
            or isolation not in (0, 1)
            or topics != 2
            or timestamp not in (_LATEST, _EARLIEST)
            or tags
        ):
            return None
        raw = frame[raw_at:rest_at].tobytes()
        route = self._routes.get(raw) or self._find(raw)
        if route is None:
            return None
        partition = route.partition
        if not partition.is_leader or leader_epoch not in (-1, partition.leader_epoch):
            return None
        if self._authorization is not None and not self._authorization.permits(
            connection, DESCRIBE_TOPIC, partition.name.topic
        ):
            return None
        if timestamp == _LATEST:
            if partition.leadership is not None and partition.is_behind_epoch:
                return None
            offset, epoch = partition.visible_end(isolation), partition.leader_epoch
        else:
            offset = partition.log.start_offset
            found = partition.log.epochs.epoch_of(offset)
            epoch = -1 if found is None else found
        shape = route.answer
        return (
            shape.pack(shape.size - 4, correlation_id, 0, 0, 2, raw, 0, -1, offset, epoch),
        )  # fmt: skip

    def _find(self, raw: bytes) -> _Route | None:
        partition = find_by_name(self._broker, raw)
        if partition is None:
            return None
        route = self._routes[raw] = _Route(partition, raw)
        return route
