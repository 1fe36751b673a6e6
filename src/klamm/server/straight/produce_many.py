"""The straight path for a produce of one batch each to several partitions of one topic, with acks 1 or all.

The whole request is looked at before anything is written: what is unusual in it sends all of it to the handler. Then the
batches are appended; one that is refused leaves the others their places, as in the handler.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, cast

from klamm.base.errors import ApiError
from klamm.base.ids import Uuid
from klamm.log.results import Appended
from klamm.protocol.messages.produce import PartitionProduceResponse
from klamm.replication.partition import ACKS_ALL, Partition
from klamm.server.authorization.rights import WRITE_TOPIC
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.handlers.produce import as_told, refusal
from klamm.server.network.outgoing import Answer, Outgoing
from klamm.server.network.pending import Parked
from klamm.server.replication.delayed_produce import DelayedProduce
from klamm.server.straight.batches import read_size
from klamm.server.straight.refusals import encode_refusals
from klamm.server.verification.batch import ATTRIBUTES_AT, TRANSACTIONAL, is_verified

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.network.connection import Connection

FIRST_WITH_TOPIC_IDS = 13
_ID_SIZE = 16
_unpack_index = Struct(">i").unpack_from
# Size and correlation id.
_HEADER = Struct(">ii")
# Index, error, base offset, append time, log start; no record errors, no message, no tags.
_pack_partition = Struct(">ihqqq3s").pack
_NO_ERRORS = b"\x01\0\0"
# No tags of the topic, no throttling, no tags.
_TAIL = bytes(6)

# Where a batch goes, and where in the frame it begins and ends.
_Place = tuple[int, Partition, int, int]
_Result = Appended | PartitionProduceResponse


class _Topic:
    """The partitions of a topic that were written to this way, by index."""

    __slots__ = ("broker", "head", "is_replicated", "name", "partitions", "topic_id")

    def __init__(self, broker: Broker, name: str, topic_id: Uuid, raw: bytes) -> None:
        self.broker = broker
        self.name = name
        self.topic_id = topic_id
        self.is_replicated = False
        self.partitions: dict[int, Partition] = {}
        # No tags of the header, one topic: its name or id.
        self.head = b"\0\x02" + raw


class StraightProduceMany:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._authorization = broker.authorization
        self._now = broker.clock.wall
        self._waiting = broker.waiting
        self._fetches = broker.fetches.parked
        # By what stands in the request: the id, or the length of the name plus one and the name.
        self._topics: dict[bytes, _Topic] = {}
        broker.on_partitions_changed(self._topics.clear)

    def answer(
        self,
        connection: Connection,
        frame: memoryview,
        at: int,
        version: int,
        correlation_id: int,
        *,
        acks: int,
        timeout_ms: int,
        has_transaction: bool,
    ) -> Answer | Parked | None:
        """`at` is where the topic stands."""
        by_id = version >= FIRST_WITH_TOPIC_IDS
        try:
            end = at + (_ID_SIZE if by_id else frame[at])
            raw = frame[at:end].tobytes()
            topic = self._topics.get(raw) or self._find(raw, by_id)
            if topic is None:
                return None
            if self._authorization is not None and not self._authorization.permits(
                connection, WRITE_TOPIC, topic.name
            ):
                return None
            places = self._places(frame, end, topic, has_transaction)
        except (IndexError, error):
            return None
        if places is None:
            return None
        response = _Response(places, topic, version, correlation_id)
        self._append(frame, response, acks)
        if topic.is_replicated and acks == ACKS_ALL:
            ends = response.uncommitted()
            if ends:
                pending = PendingProduceMany(response)
                pending.wait(self._waiting, ends, timeout_ms)
                return pending
        return response.encode()

    def _find(self, raw: bytes, by_id: bool) -> _Topic | None:
        image = self._broker.image
        if by_id:
            known = image.topics_by_id.get(Uuid(raw)) if len(raw) == _ID_SIZE else None
        elif 1 < raw[0] < 128:
            known = image.topics_by_name.get(str(raw[1:], "utf-8", "replace"))
        else:
            known = None
        if known is None or known.name in INTERNAL_TOPICS:
            return None
        topic = self._topics[raw] = _Topic(self._broker, known.name, known.topic_id, raw)
        return topic

    def _places(
        self, frame: memoryview, at: int, topic: _Topic, has_transaction: bool
    ) -> list[_Place] | None:
        count = frame[at] - 1
        if not 1 < count < 127:
            return None
        at += 1
        end = len(frame)
        partitions = topic.partitions
        places: list[_Place] = []
        for _ in range(count):
            (index,) = _unpack_index(frame, at)
            partition = partitions.get(index) or self._find_partition(topic, index)
            if partition is None:
                return None
            size, at = read_size(frame, at + 4)
            stop = at + size
            # After the records: no tags of the partition.
            if size <= 0 or stop >= end or frame[stop]:
                return None
            if (size > ATTRIBUTES_AT and frame[at + ATTRIBUTES_AT] & TRANSACTIONAL) and not (
                has_transaction and is_verified(frame, at, size, partition)
            ):
                return None
            places.append((index, partition, at, stop))
            at = stop + 1
        # No tags of the topic and the request, and nothing more.
        if at + 2 != end or frame[at] or frame[at + 1]:
            return None
        return places

    def _find_partition(self, topic: _Topic, index: int) -> Partition | None:
        partition = self._broker.replicas.find(topic.name, index)
        # Acknowledgements that wait for the disk are the handler's, which can park a request; and so is who leads instead.
        if (
            partition is None
            or not partition.is_leader
            or self._broker.acknowledges_after_flush(partition)
        ):
            return None
        topic.partitions[index] = partition
        topic.is_replicated |= partition.replica_count != 1
        return partition

    def _append(self, frame: memoryview, response: _Response, acks: int) -> None:
        now = self._now()
        results = response.results
        appended = self._waiting.appended if response.topic.is_replicated else None
        for index, partition, at, stop in response.places:
            try:
                results.append(partition.append(frame[at:stop], acks=acks, now=now))
            except ApiError as e:
                response.is_refused = True
                results.append(refusal(index, e, partition))
                continue
            except Exception as e:  # noqa: BLE001 - a bug: the batches before it are in their logs, and answered
                response.is_refused = True
                results.append(refusal(index, as_told(e, partition), partition))
                continue
            if appended is not None:
                appended(partition)
            elif self._fetches:
                self._waiting.retry_fetches(partition)


class _Response:
    """What became of each batch."""

    __slots__ = ("correlation_id", "is_refused", "places", "results", "topic", "version")

    def __init__(
        self, places: list[_Place], topic: _Topic, version: int, correlation_id: int
    ) -> None:
        self.places = places
        self.topic = topic
        self.version = version
        self.correlation_id = correlation_id
        self.is_refused = False
        self.results: list[_Result] = []

    def uncommitted(self) -> list[tuple[Partition, int]]:
        """How far each partition must be committed before all is acknowledged."""
        ends: dict[Partition, int] = {}
        for (_, partition, _, _), result in zip(self.places, self.results, strict=True):
            if isinstance(result, Appended) and result.last_offset >= partition.high_watermark:
                ends[partition] = max(ends.get(partition, 0), result.last_offset + 1)
        return list(ends.items())

    def fail(self, failed: Partition, code: int) -> None:
        """A batch that was appended may not be committed. It stays where it is."""
        self.is_refused = True
        for at, ((_, partition, _, _), result) in enumerate(
            zip(self.places, self.results, strict=True)
        ):
            if partition is failed and isinstance(result, Appended):
                self.results[at] = _told(self.places[at], result, code)

    def encode(self, connection: Outgoing | None = None) -> Answer:
        topic = self.topic
        if self.is_refused:
            answers = [
                _told(place, result, 0) if isinstance(result, Appended) else result
                for place, result in zip(self.places, self.results, strict=True)
            ]
            named = topic.name, topic.topic_id
            return encode_refusals(
                topic.broker, connection, self.correlation_id, self.version, named, answers
            )
        out = bytearray(_HEADER.size)
        _put(out, self.places, cast(list[Appended], self.results), topic)
        _HEADER.pack_into(out, 0, len(out) - 4, self.correlation_id)
        return (out,)


class PendingProduceMany(DelayedProduce):
    """Of several batches."""

    __slots__ = ("_response",)

    def __init__(self, response: _Response) -> None:
        super().__init__()
        self._response = response

    def fail(self, partition: Partition, code: int) -> None:
        self._response.fail(partition, code)

    def encode(self) -> Answer:
        return self._response.encode(self.connection)


def _put(out: bytearray, places: list[_Place], results: list[Appended], topic: _Topic) -> None:
    out += topic.head
    out.append(len(places) + 1)
    for (index, partition, _, _), (base_offset, _, append_time, _) in zip(
        places, results, strict=True
    ):
        out += _pack_partition(
            index, 0, base_offset, append_time, partition.log.start_offset, _NO_ERRORS
        )
    out += _TAIL


def _told(place: _Place, appended: Appended, code: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=place[0],
        error_code=code,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time,
        log_start_offset=place[1].log.start_offset,
    )
