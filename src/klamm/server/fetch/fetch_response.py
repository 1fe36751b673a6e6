"""FetchResponse written by hand: the one response whose record bytes must reach the socket without a copy.

tests/server/test_fetch_response.py holds it to the declared message, version by version.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple, cast

from klamm.base.errors import ErrorCode
from klamm.log.results import Slice
from klamm.protocol.wire import put_uvarint
from klamm.replication.fetch_sessions import FetchPartition
from klamm.server.call import EncodedBody, LongBody
from klamm.server.metadata.addresses import NodeAddress
from klamm.server.metadata.current_leader import CurrentLeader
from klamm.server.network.long_answer import Unread
from klamm.server.world.ports import Buffer

_FIRST_WITH_LOG_START = 5
_FIRST_WITH_SESSIONS = 7
_FIRST_WITH_PREFERRED_REPLICA = 11
_FIRST_FLEXIBLE = 12
_FIRST_WITH_TOPIC_IDS = 13
FIRST_WITH_ENDPOINTS = 16

_INT32 = Struct(">i")
_ABORTED = Struct(">qq")
_SESSION = Struct(">ihi")  # throttle time, error, session id
_OFFSETS = Struct(">ihqq")  # index, error, high watermark, last stable offset
_OFFSETS_AND_START = Struct(">ihqqq")
# The same for what nearly every partition is: nothing aborted (null), the preferred replica.
_PLAIN = Struct(">ihqqqBi")
_DIVERGING = Struct(">BBBiqB")  # one tag: number 0, 13 bytes, epoch, end offset, no tags within
_LEADER = Struct(">BBBiiB")  # one tag: number 1, 9 bytes, leader, epoch, no tags within


class Divergence(NamedTuple):
    """Where the log of the asker left ours: the last epoch both know, and its end here."""

    epoch: int
    end_offset: int


class FetchResult(NamedTuple):
    asked: FetchPartition
    error: int = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start: int = -1
    # None: not asked for. A list, though empty, for readers of committed data.
    aborted: list[tuple[int, int]] | None = None
    records: Slice | None = None
    diverging: Divergence | None = None
    # A replica that had better be asked (KIP-392).
    preferred_replica: int = -1
    # Who leads instead (KIP-951): never with a divergence.
    leader: CurrentLeader | None = None

    @property
    def size(self) -> int:
        return 0 if self.records is None else self.records.size


def encode_fetch_response(
    version: int,
    *,
    error: int,
    session_id: int,
    results: Sequence[FetchResult],
    leaders: Sequence[NodeAddress] = (),
) -> EncodedBody:
    """leaders: where those that lead instead are reached."""
    writer = _Writer(version)
    _write(writer, error, session_id, results, leaders)
    return EncodedBody(cast(list[Buffer], writer.finish()))


def encode_long_fetch_response(
    version: int,
    *,
    error: int,
    session_id: int,
    results: Sequence[FetchResult],
    leaders: Sequence[NodeAddress] = (),
) -> LongBody:
    """The same without reading the records: they stay in their files until the client takes them."""
    writer = _Writer(version, reads=False)
    _write(writer, error, session_id, results, leaders)
    return LongBody(writer.finish())


def _write(
    writer: _Writer,
    error: int,
    session_id: int,
    results: Sequence[FetchResult],
    leaders: Sequence[NodeAddress],
) -> None:
    version, out = writer.version, writer.out
    out += (
        _SESSION.pack(0, error, session_id) if version >= _FIRST_WITH_SESSIONS else _INT32.pack(0)
    )
    topics = _by_topic(results)
    writer.count(len(topics))
    for topic in topics:
        writer.topic(topic)
    if writer.flexible:
        _write_leaders(writer.out, leaders)


def _write_leaders(out: bytearray, leaders: Sequence[NodeAddress]) -> None:
    """The tags of the whole answer: none, or these."""
    if not leaders:
        out.append(0)
        return
    body = bytearray()
    put_uvarint(body, len(leaders) + 1)
    for each in leaders:
        body += _INT32.pack(each.node_id)
        _put_text(body, each.host)
        body += _INT32.pack(each.port)
        _put_text(body, each.rack)
        body.append(0)
    out += b"\x01\0"
    put_uvarint(out, len(body))
    out += body


def _put_text(out: bytearray, text: str | None) -> None:
    encoded = b"" if text is None else text.encode()
    put_uvarint(out, 0 if text is None else len(encoded) + 1)
    out += encoded


def _by_topic(results: Sequence[FetchResult]) -> list[list[FetchResult]]:
    """Neighbours of one topic together; the order is the session's."""
    topics: list[list[FetchResult]] = []
    last = None
    for result in results:
        key = result.asked.topic or result.asked.topic_id
        if key != last:
            topics.append([])
            last = key
        topics[-1].append(result)
    return topics


class _Writer:
    __slots__ = ("flexible", "out", "parts", "reads", "version")

    def __init__(self, version: int, *, reads: bool = True) -> None:
        self.version = version
        self.reads = reads
        self.flexible = version >= _FIRST_FLEXIBLE
        self.out = bytearray()
        self.parts: list[Buffer | Unread] = []

    def finish(self) -> list[Buffer | Unread]:
        self.parts.append(self.out)
        return self.parts

    def count(self, number: int) -> None:
        if self.flexible:
            put_uvarint(self.out, number + 1)
        else:
            self.out += _INT32.pack(number)

    def topic(self, results: list[FetchResult]) -> None:
        asked = results[0].asked
        if self.version >= _FIRST_WITH_TOPIC_IDS:
            self.out += asked.topic_id
        else:
            name = asked.topic.encode()
            if self.flexible:
                put_uvarint(self.out, len(name) + 1)
            else:
                self.out += len(name).to_bytes(2, "big")
            self.out += name
        self.count(len(results))
        for result in results:
            self.partition(result)
        if self.flexible:
            self.out.append(0)

    def partition(self, r: FetchResult) -> None:
        if self.flexible and r.aborted is None:
            self.out += _PLAIN.pack(
                r.asked.index,
                r.error,
                r.high_watermark,
                r.last_stable_offset,
                r.log_start,
                0,
                r.preferred_replica,
            )
        else:
            self.offsets(r)
        self.records(r.records)
        if self.flexible:
            if r.leader is not None:
                self.out += _LEADER.pack(1, 1, 9, *r.leader, 0)
            elif r.diverging is None:
                self.out.append(0)
            else:
                self.out += _DIVERGING.pack(1, 0, 13, r.diverging.epoch, r.diverging.end_offset, 0)

    def offsets(self, r: FetchResult) -> None:
        out = self.out
        if self.version >= _FIRST_WITH_LOG_START:
            out += _OFFSETS_AND_START.pack(
                r.asked.index, r.error, r.high_watermark, r.last_stable_offset, r.log_start
            )
        else:
            out += _OFFSETS.pack(r.asked.index, r.error, r.high_watermark, r.last_stable_offset)
        self.aborted(r.aborted)
        if self.version >= _FIRST_WITH_PREFERRED_REPLICA:
            out += _INT32.pack(r.preferred_replica)

    def aborted(self, aborted: list[tuple[int, int]] | None) -> None:
        self.count(-1 if aborted is None else len(aborted))
        for producer_id, first_offset in aborted or ():
            self.out += _ABORTED.pack(producer_id, first_offset)
            if self.flexible:
                self.out.append(0)

    def records(self, records: Slice | None) -> None:
        if records is None:
            self.count(0)
            return
        if records.spare:
            # Deviation: Kafka sends what fits of a batch that is cut off, though clients can only throw it away.
            records = records.trimmed()
        data: Buffer | Unread
        if self.reads:
            data = records.read()
            self.count(len(data))
        else:
            data = records
            self.count(records.size)
        self.parts.append(self.out)
        self.parts.append(data)
        self.out = bytearray()
