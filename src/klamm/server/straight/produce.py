"""The straight path for a produce of one batch to one partition, with acks 1 or all.

A transactional batch comes this way if its transaction is open on the partition; the first one must be admitted by the
transaction's coordinator.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError
from klamm.protocol.records.batch import TRANSACTIONAL
from klamm.replication.partition import Partition
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.network.connection import Answer
from klamm.server.straight.batches import ATTRIBUTES_AT, is_admitted, read_size
from klamm.server.straight.produce_many import FIRST_WITH_TOPIC_IDS, StraightProduceMany
from klamm.server.straight.routes import SIZE_BY_ID, find_by_id, find_by_name

if TYPE_CHECKING:
    from klamm.server.broker import Broker

_FIRST_FLEXIBLE = 9
_LAST = 13

# The last byte of the transactional id (or its length, if it is null or empty), acks, timeout, count of topics (plus one).
_unpack_start = Struct(">BhiB").unpack_from
# Of a transactional id whose length (plus one) takes one byte.
_LONGEST_ID = 127


class _Route:
    """A partition, and the bytes of an answer about it up to the error code."""

    __slots__ = ("head", "partition", "response", "size")

    def __init__(self, partition: Partition, topic_and_partition: bytes) -> None:
        self.partition = partition
        # Response header's tags, one topic: its name or id, one partition: its index.
        self.head = b"\0\x02" + topic_and_partition
        # size, correlation id, head, error, base offset, append time, log start; no record errors, no message, no
        # tags; throttle time; no tags.
        self.response = Struct(f">ii{len(self.head)}shqqqIiB")
        self.size = self.response.size - 4


class StraightProduce:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._now = broker.clock.wall
        self._waiting = broker.fetches.parked
        self._many = StraightProduceMany(broker)
        self._routes: dict[bytes, _Route] = {}
        self._routes_by_id: dict[bytes, _Route] = {}
        broker.on_partitions_changed(self.forget_routes)

    def forget_routes(self) -> None:
        self._routes.clear()
        self._routes_by_id.clear()

    def answer(
        self, frame: memoryview, version: int, correlation_id: int, client_size: int
    ) -> Answer | None:
        if not _FIRST_FLEXIBLE <= version <= _LAST or client_size < 0:
            return None
        at = 10 + client_size
        try:
            if frame[at]:
                return None
            transactional = frame[at + 1]
            if transactional:
                if transactional > _LONGEST_ID:
                    return None
                at += transactional - 1
            _, acks, _, topics = _unpack_start(frame, at + 1)
            at += 9
            if topics != 2 or not acks:
                return None
            if version < FIRST_WITH_TOPIC_IDS:
                # Name length (plus one, below 128), name, count of partitions, index.
                end = at + frame[at] + 5
                route = self._routes.get(key := frame[at:end].tobytes()) or self._remember(
                    self._routes, key, find_by_name(self._broker, key)
                )
            else:
                end = at + SIZE_BY_ID
                route = self._routes_by_id.get(key := frame[at:end].tobytes()) or self._remember(
                    self._routes_by_id, key, find_by_id(self._broker, key)
                )
            if acks < -1 or acks > 1:
                return None
            if route is not None:
                # Up to 16 KB, as small requests have it, without a call.
                if (low := frame[end]) < 0x80:
                    size, at = low - 1, end + 1
                elif (high := frame[end + 1]) < 0x80:
                    size, at = (low & 0x7F | high << 7) - 1, end + 2
                else:
                    size, at = read_size(frame, end)
        except (IndexError, error):
            return None
        if route is None:
            has_transaction = transactional > 0
            return self._many.answer(
                frame, at, version, correlation_id, acks=acks, has_transaction=has_transaction
            )
        stop = at + size
        # After the records: no tags for the partition, the topic and the request, and nothing more.
        if size <= 0 or stop + 3 != len(frame) or frame[stop] or frame[stop + 1] or frame[stop + 2]:
            return None
        if (size > ATTRIBUTES_AT and frame[at + ATTRIBUTES_AT] & TRANSACTIONAL) and not (
            transactional and is_admitted(frame, at, size, route.partition)
        ):
            return None
        return self._append(route, frame[at:stop], acks, correlation_id)

    def _append(
        self, route: _Route, data: memoryview, acks: int, correlation_id: int
    ) -> Answer | None:
        partition = route.partition
        try:
            appended = partition.append(data, acks=acks, now=self._now())
        except ApiError:
            return None
        if self._waiting:
            self._broker.appended(partition)
        return (
            route.response.pack(
                route.size,
                correlation_id,
                route.head,
                0,
                appended.base_offset,
                appended.append_time,
                partition.log.start_offset,
                0x01000000,
                0,
                0,
            ),
        )

    def _remember(
        self, routes: dict[bytes, _Route], key: bytes, partition: Partition | None
    ) -> _Route | None:
        # A partition whose acknowledgements wait for the disk takes the long way, where a request can be parked.
        if (
            partition is None
            or partition.replica_count != 1
            or partition.name.topic in INTERNAL_TOPICS
            or self._broker.acknowledges_after_flush(partition)
        ):
            return None
        route = routes[key] = _Route(partition, key)
        return route
