"""The straight path for a fetch of one partition, without a session, that has enough to return at once.

A fetch that must wait, reads only committed data, goes on with a session or meets an error takes the long way.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError
from klamm.protocol.wire import put_uvarint
from klamm.replication.partition import Isolation, Partition
from klamm.server.authorization.rights import READ_TOPIC
from klamm.server.network.long_answer import DIRECT_BYTES, LONG_BYTES, LongAnswer
from klamm.server.network.outgoing import Answer
from klamm.server.straight.routes import SIZE_BY_ID, find_by_id, find_by_name

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.network.connection import Connection

_FIRST_FLEXIBLE = 12
_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITHOUT_REPLICA_ID = 15
_LAST = 18

# Longest wait, least bytes, most bytes, isolation level, session id and epoch, count of topics (plus one).
_START = Struct(">iiibiiB")
_REPLICA_ID = 4
# Leader epoch, offset, last fetched epoch, log start, most bytes; no tags of partition and topic, nothing forgotten
# (count plus one), no rack (length plus one), no tags.
_REST = Struct(">iqiqi5s")
_NOTHING_MORE = b"\0\0\x01\x01\0"
# No tags of partition, topic and answer.
_TAIL = b"\0\0\0"
# To ask an enum for its member costs four times as much as a name of our own.
_UNCOMMITTED = Isolation.READ_UNCOMMITTED


class _Route:
    __slots__ = ("head", "partition", "raw")

    def __init__(self, partition: Partition, raw: bytes) -> None:
        self.partition = partition
        self.raw = raw
        # Size, correlation id, no tags; throttle time, error, session id; one topic: raw; error, high watermark, last
        # stable offset, log start, nothing aborted (null), no preferred replica.
        self.head = Struct(f">iiBihiB{len(raw)}shqqqBi")


class StraightFetch:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._authorization = broker.authorization
        self._max_bytes = broker.settings.network.fetch_max_bytes
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
        at = 11 + client_size
        if version < _FIRST_WITHOUT_REPLICA_ID:
            at += _REPLICA_ID
        raw_at = at + _START.size
        if len(frame) <= raw_at:
            return None
        by_id = version >= _FIRST_WITH_TOPIC_IDS
        rest_at = raw_at + (SIZE_BY_ID if by_id else frame[raw_at] + 5)
        if len(frame) != rest_at + _REST.size:
            return None
        _, min_bytes, max_bytes, isolation, session, epoch, topics = _START.unpack_from(frame, at)
        leader_epoch, offset, last_epoch, _, most, rest = _REST.unpack_from(frame, rest_at)
        if (
            topics != 2
            or epoch != -1
            or session
            or isolation != _UNCOMMITTED
            or last_epoch >= 0
            or rest != _NOTHING_MORE
            or not self._is_consumer(frame, version, client_size)
        ):
            return None
        raw = frame[raw_at:rest_at].tobytes()
        route = self._routes.get(raw) or self._find(raw, by_id)
        if route is None or leader_epoch not in (-1, route.partition.leader_epoch):
            return None
        if self._authorization is not None and not self._authorization.permits(
            connection, READ_TOPIC, route.partition.name.topic
        ):
            return None
        return self._read(
            route, offset, min(most, max_bytes, self._max_bytes), min_bytes, correlation_id
        )

    def _is_consumer(self, frame: memoryview, version: int, client_size: int) -> bool:
        """The header has no tags, and no replica asks."""
        at = 10 + client_size
        if version < _FIRST_WITHOUT_REPLICA_ID:
            return frame[at : at + 5].tobytes() == b"\0\xff\xff\xff\xff"
        return frame[at] == 0

    def _find(self, raw: bytes, by_id: bool) -> _Route | None:
        partition = find_by_id(self._broker, raw) if by_id else find_by_name(self._broker, raw)
        if partition is None:
            return None
        route = self._routes[raw] = _Route(partition, raw)
        return route

    def _read(
        self, route: _Route, offset: int, most: int, min_bytes: int, correlation_id: int
    ) -> Answer | None:
        partition = route.partition
        if not partition.is_leader:
            return None
        try:
            records = partition.read(offset, most, isolation=_UNCOMMITTED, min_one=True)
            if records is None or records.size < min_bytes or records.size >= LONG_BYTES:
                return None
            if records.spare:
                # As in fetch_response.py.
                records = records.trimmed()
            # What is large stays in its file.
            data = records.read() if records.size < DIRECT_BYTES else b""
        except (ApiError, OSError):
            return None
        data_size = len(data) or records.size
        count = bytearray()
        put_uvarint(count, data_size + 1)
        size = route.head.size - 4 + len(count) + data_size + len(_TAIL)
        head = route.head.pack(
            size, correlation_id, 0, 0, 0, 0, 2, route.raw, 0,
            partition.high_watermark, partition.last_stable_offset, partition.log.start_offset,
            0, -1,
        )  # fmt: skip
        return [head + count, data, _TAIL] if data else LongAnswer([head + count, records, _TAIL])
