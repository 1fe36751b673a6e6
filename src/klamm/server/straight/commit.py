"""The straight path for a commit as consumers send it: by a member of a classic group, of one partition."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.server.authorization.rights import READ_GROUP, READ_TOPIC
from klamm.server.coordination.coordinator import Written
from klamm.server.network.connection import Connection
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard
    from klamm.coordinator.records.framing import CoordinatorRecord
    from klamm.coordinator.shard import Reply
    from klamm.metadata.image import TopicImage
    from klamm.server.broker import Broker

_FIRST_FLEXIBLE = 8
_WITH_TOPIC_IDS = 10
# Of a name whose length (plus one) takes one byte.
_LONGEST_NAME = 127

# The generation, and the length of the name behind it (plus one).
_MIDDLE = Struct(">iB")
# No instance id, one topic.
_ONE_TOPIC = b"\0\x02"
# One partition (plus one): its index, offset, leader epoch, and the length of its metadata (plus one).
_PARTITION = Struct(">BiqiB")
_NO_TAGS = b"\0\0\0"
# Size, correlation id, tags, throttle time, one topic.
_HEAD = Struct(">iiBiB")
# One partition: index, error code; no tags for it, the topic and the answer.
_TAIL = Struct(">BihBBB")
# About what a parked one takes in memory.
_PARKED_COST = 512


class Asked(NamedTuple):
    """Implements committed.commit.Asked."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str


class Commit(NamedTuple):
    group_id: str
    member_id: str
    generation: int
    topic: TopicImage
    # As it stands in the request, and will in the answer.
    raw_topic: bytes
    asked: Asked


class StraightCommit:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def answer(
        self,
        connection: Connection,
        frame: memoryview,
        version: int,
        correlation_id: int,
        client_size: int,
    ) -> Answer | Parked | None:
        if not _FIRST_FLEXIBLE <= version <= _WITH_TOPIC_IDS or client_size < 0:
            return None
        try:
            commit = self._read(frame, 10 + client_size, version)
        except (IndexError, UnicodeDecodeError, error):
            return None
        if commit is None or not self._is_permitted(connection, commit):
            return None
        now = self._broker.clock.now()

        def decide(shard: GroupShard) -> CoordinatorRecord | None:
            group_id, member_id, generation, topic, _, asked = commit
            return shard.offsets.plain_commit(
                group_id, member_id, generation, topic, asked, version=version, now=now
            )

        def encode(reply: Reply) -> Answer:
            code = reply.code if isinstance(reply, ApiError) else ErrorCode.NONE
            raw = commit.raw_topic
            size = _HEAD.size - 4 + len(raw) + _TAIL.size
            head = _HEAD.pack(size, correlation_id, 0, 0, 2)
            return (head + raw + _TAIL.pack(2, commit.asked.partition_index, code, 0, 0, 0),)

        try:
            written = self._broker.groups.write_one(
                commit.group_id, decide, now, lambda reply: connection.finish(encode(reply))
            )
        except ApiError:
            return None
        if written is Written.WAITS:
            connection.hold(_PARKED_COST)
            return PARKED
        return encode(None) if written is Written.COMMITTED else None

    def _is_permitted(self, connection: Connection, commit: Commit) -> bool:
        authorization = self._broker.authorization
        return authorization is None or (
            authorization.permits(connection, READ_GROUP, commit.group_id)
            and authorization.permits(connection, READ_TOPIC, commit.topic.name)
        )

    def _read(self, frame: memoryview, at: int, version: int) -> Commit | None:
        """None for what is not that plain."""
        size = frame[at + 1] - 1
        if frame[at] or not 0 < size < _LONGEST_NAME:
            return None
        at += 2 + size
        group = frame[at - size : at]
        generation, size = _MIDDLE.unpack_from(frame, at)
        at += 4 + size
        if not 1 < size <= _LONGEST_NAME or frame[at : at + 2] != _ONE_TOPIC:
            return None
        member = frame[at + 1 - size : at]
        at += 2
        has_id = version == _WITH_TOPIC_IDS
        end = at + (16 if has_id else frame[at])
        count, index, offset, epoch, size = _PARTITION.unpack_from(frame, end)
        stop = end + _PARTITION.size + max(size - 1, 0)
        if count != 2 or size > _LONGEST_NAME or frame[stop:] != _NO_TAGS:
            return None
        topic = self._find_topic(frame[at:end], has_id)
        if topic is None:
            return None
        metadata = str(frame[end + _PARTITION.size : stop], "utf-8")
        return Commit(
            str(group, "utf-8"),
            str(member, "utf-8"),
            generation,
            topic,
            frame[at:end].tobytes(),
            Asked(index, offset, epoch, metadata),
        )

    def _find_topic(self, raw: memoryview, has_id: bool) -> TopicImage | None:
        image = self._broker.image
        if has_id:
            return image.topics_by_id.get(Uuid(raw))
        if not 1 < len(raw) <= _LONGEST_NAME:
            return None
        return image.topics_by_name.get(str(raw[1:], "utf-8"))
