"""The straight path for a produce of one batch to one partition, with acks 1 or all.

A transactional batch comes this way if its transaction is open on the partition; the first one must be verified by the
transaction's coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError
from klamm.log.results import Appended
from klamm.protocol.messages.produce import PartitionProduceResponse
from klamm.replication.partition import ACKS_ALL, Partition
from klamm.server.authorization.rights import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import Parked
from klamm.server.replication.delayed_produce import DelayedProduce
from klamm.server.straight.batches import read_size
from klamm.server.straight.produce_many import FIRST_WITH_TOPIC_IDS, StraightProduceMany
from klamm.server.straight.refusals import encode_refusals
from klamm.server.straight.routes import SIZE_BY_ID, find_by_id, find_by_name
from klamm.server.verification.batch import ATTRIBUTES_AT, TRANSACTIONAL, is_verified

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.network.connection import Connection

_FIRST_FLEXIBLE = 9
_LAST = 13

# The last byte of the transactional id (or its length, if it is null or empty), acks, timeout, count of topics (plus one).
_unpack_start = Struct(">BhiB").unpack_from
# Of a transactional id whose length (plus one) takes one byte.
_LONGEST_ID = 127


class _Route:
    """A partition, the way to append to it, and the bytes of an answer about it up to the error code."""

    __slots__ = ("append", "head", "partition", "response", "size", "version")

    def __init__(
        self, partition: Partition, topic_and_partition: bytes, append: _Append, version: int
    ) -> None:
        self.partition = partition
        self.append = append
        # Response header's tags, one topic: its name or id, one partition: its index.
        self.head = b"\0\x02" + topic_and_partition
        # size, correlation id, head, error, base offset, append time, log start; no record errors, no message, no
        # tags; throttle time; no tags.
        self.response = Struct(f">ii{len(self.head)}shqqqIiB")
        self.size = self.response.size - 4
        # The last one in which topics are named like this: what is refused is told in that.
        self.version = version

    def pack(self, correlation_id: int, code: int, appended: Appended) -> bytes:
        return self.response.pack(
            self.size,
            correlation_id,
            self.head,
            code,
            appended.base_offset,
            appended.append_time,
            self.partition.log.start_offset,
            0x01000000,
            0,
            0,
        )


_Append = Callable[[_Route, memoryview, int, int, int], Answer | Parked | None]


class PendingProduce(DelayedProduce):
    """Of one batch."""

    __slots__ = ("_appended", "_broker", "_code", "_correlation_id", "_route")

    def __init__(
        self, broker: Broker, route: _Route, correlation_id: int, appended: Appended
    ) -> None:
        super().__init__()
        self._broker = broker
        self._route = route
        self._correlation_id = correlation_id
        self._appended = appended
        self._code = 0

    def fail(self, partition: Partition, code: int) -> None:
        self._code = code

    def encode(self) -> Answer:
        route, appended = self._route, self._appended
        if not self._code:
            return (route.pack(self._correlation_id, 0, appended),)
        partition = route.partition
        refused = PartitionProduceResponse(
            index=partition.name.partition,
            error_code=self._code,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.append_time,
            log_start_offset=partition.log.start_offset,
        )
        named = partition.name.topic, partition.topic_id
        return encode_refusals(
            self._broker, self.connection, self._correlation_id, route.version, named, [refused]
        )


class StraightProduce:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._authorization = broker.authorization
        self._now = broker.clock.wall
        self._waiting = broker.waiting
        self._fetches = broker.fetches.parked
        self._many = StraightProduceMany(broker)
        self._routes: dict[bytes, _Route] = {}
        self._routes_by_id: dict[bytes, _Route] = {}
        broker.on_partitions_changed(self.forget_routes)

    def forget_routes(self) -> None:
        self._routes.clear()
        self._routes_by_id.clear()

    def answer(
        self,
        connection: Connection,
        frame: memoryview,
        version: int,
        correlation_id: int,
        client_size: int,
    ) -> Answer | Parked | None:
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
            _, acks, timeout_ms, topics = _unpack_start(frame, at + 1)
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
            has_transaction = transactional > 0 and self._may_use(connection, frame, client_size)
            # fmt: off
            return self._many.answer(
                connection, frame, at, version, correlation_id,
                acks=acks, timeout_ms=timeout_ms, has_transaction=has_transaction,
            )
            # fmt: on
        stop = at + size
        # After the records: no tags for the partition, the topic and the request, and nothing more.
        if size <= 0 or stop + 3 != len(frame) or frame[stop] or frame[stop + 1] or frame[stop + 2]:
            return None
        if (size > ATTRIBUTES_AT and frame[at + ATTRIBUTES_AT] & TRANSACTIONAL) and not (
            transactional
            and is_verified(frame, at, size, route.partition)
            and self._may_use(connection, frame, client_size)
        ):
            return None
        if self._authorization is not None and not self._authorization.permits(
            connection, WRITE_TOPIC, route.partition.name.topic
        ):
            return None
        return route.append(route, frame[at:stop], acks, correlation_id, timeout_ms)

    def _may_use(self, connection: Connection, frame: memoryview, client_size: int) -> bool:
        """Whether the transactional id in the frame is the client's."""
        if self._authorization is None:
            return True
        at = 12 + client_size
        transactional_id = frame[at : at - 1 + frame[at - 1]].tobytes().decode("utf-8", "replace")
        return self._authorization.permits(connection, WRITE_TRANSACTIONAL_ID, transactional_id)

    def _append_alone(
        self, route: _Route, data: memoryview, acks: int, correlation_id: int, timeout_ms: int
    ) -> Answer | None:
        partition = route.partition
        try:
            appended = partition.append(data, acks=acks, now=self._now())
        except ApiError:
            return None
        if self._fetches:
            self._waiting.retry_fetches(partition)
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

    def _append_replicated(
        self, route: _Route, data: memoryview, acks: int, correlation_id: int, timeout_ms: int
    ) -> Answer | Parked | None:
        partition = route.partition
        try:
            appended = partition.append(data, acks=acks, now=self._now())
        except ApiError:
            return None
        self._waiting.appended(partition)
        end_offset = appended.last_offset + 1
        if acks == ACKS_ALL and end_offset > partition.high_watermark:
            pending = PendingProduce(self._broker, route, correlation_id, appended)
            pending.wait(self._waiting, [(partition, end_offset)], timeout_ms)
            return pending
        return (route.pack(correlation_id, 0, appended),)

    def _remember(
        self, routes: dict[bytes, _Route], key: bytes, partition: Partition | None
    ) -> _Route | None:
        # A partition whose acknowledgements wait for the disk takes the long way, where a request can be parked.
        if (
            partition is None
            or partition.name.topic in INTERNAL_TOPICS
            or self._broker.acknowledges_after_flush(partition)
        ):
            return None
        append = self._append_alone if partition.replica_count == 1 else self._append_replicated
        version = _LAST if routes is self._routes_by_id else FIRST_WITH_TOPIC_IDS - 1
        route = routes[key] = _Route(partition, key, append, version)
        return route
