"""A group shard with its log in memory: bytes as they would stand on disk, so that a restart reads what was written."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from klamm.base.clock import Now
from klamm.base.ids import Uuid
from klamm.base.settings.group import GroupSettings
from klamm.coordinator.group.records import FRAMING, group_metadata
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.records.group import GroupMetadataValue, MemberMetadata
from klamm.coordinator.shard import Outcome, Producer
from klamm.metadata.image import ClusterImage, PartitionImage, TopicImage
from klamm.protocol.compile import encode
from klamm.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

MINUTE = 60_000
Where = tuple[str, int]


def topic_id(topic: str, incarnation: int = 0) -> Uuid:
    return Uuid(f"{topic}/{incarnation}".encode().ljust(16, b"."))


def an_image(incarnations: dict[str, int], partitions: int = 3) -> ClusterImage:
    topics = [
        TopicImage(name, topic_id(name, which), (PartitionImage((1,), (1,), 1, 0, 0),) * partitions)
        for name, which in incarnations.items()
    ]
    return ClusterImage(
        topics_by_name={topic.name: topic for topic in topics},
        topics_by_id={topic.topic_id: topic for topic in topics},
    )


class Marker(NamedTuple):
    producer: Producer
    is_commit: bool


class Written(NamedTuple):
    key: bytes
    value: bytes | None
    producer: Producer | None


class World:
    """Requests go in, answers come out, and everything that must survive is in `log`."""

    def __init__(self, topics: tuple[str, ...] = ("t", "u"), **settings: int) -> None:
        self.settings = GroupSettings(**settings)  # type: ignore[arg-type]
        self.image = an_image(dict.fromkeys(topics, 0))
        self.now = 1_000_000
        self.wall_ahead = 0
        self.log: list[Written | Marker] = []
        self.shard = self._load()

    @property
    def moment(self) -> Now:
        """`now` on both clocks. A test that sets the wall clock moves `wall_ahead`."""
        return Now(self.now, self.now + self.wall_ahead)

    def _load(self) -> GroupShard:
        shard = GroupShard(self.settings, Random(1))
        for offset, entry in enumerate(self.log):
            if isinstance(entry, Marker):
                shard.replay_end(*entry)
            else:
                record = FRAMING.decode(entry.key, entry.value)
                assert record is not None
                shard.replay(record, offset, entry.producer)
        shard.loaded(self.image, self.moment)
        shard.check_invariants()
        return shard

    def restart(self) -> None:
        self.shard = self._load()

    def do(self, outcome: Outcome) -> object:
        """Append, replay, and give the one reply, if there is one."""
        for record in outcome.records:
            key, value = FRAMING.encode(record)
            self.log.append(Written(key, value, outcome.producer))
            self.shard.replay(record, len(self.log) - 1, outcome.producer)
        self.shard.check_invariants()
        return outcome.replies[0][1] if outcome.replies else None

    def wake(self, after: int) -> Outcome:
        self.now += after
        outcome = self.shard.wake(self.moment)
        self.do(outcome)
        return outcome

    def change_topics(self, incarnations: dict[str, int]) -> Outcome:
        self.image = an_image(incarnations)
        outcome = self.shard.follow(self.image, self.moment)
        self.do(outcome)
        return outcome

    def a_stable_group(self, group_id: str, members: dict[str, tuple[str, ...]]) -> None:
        """A classic group of generation 5 with these members and their topics."""
        value = GroupMetadataValue(
            protocol_type="consumer",
            generation=5,
            protocol="range",
            leader=next(iter(members), None),
            current_state_timestamp=self.moment.wall,
            members=[
                MemberMetadata(
                    member_id=member_id,
                    session_timeout=10_000,
                    rebalance_timeout=10_000,
                    subscription=b"\0\0"
                    + encode(ConsumerProtocolSubscription(topics=list(topics)), 0),
                )
                for member_id, topics in members.items()
            ],
        )
        self.log.append(Written(*FRAMING.encode(group_metadata(group_id, value)), None))
        self.restart()

    def commit(self, group_id: str, offsets: dict[Where, int], **how: object) -> dict[Where, int]:
        """The error code of each partition. `how`: version, member, generation, metadata, epoch, retention."""
        version = how.get("version", 9)
        assert isinstance(version, int)
        request = OffsetCommitRequest(
            group_id=group_id,
            member_id=str(how.get("member", "")),
            generation_id_or_member_epoch=_number(how, "generation", -1),
            retention_time_ms=_number(how, "retention", -1),
            topics=[
                OffsetCommitRequestTopic(
                    name=topic if version < 10 else "",
                    topic_id=topic_id(topic) if version >= 10 else topic_id("", 9),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_leader_epoch=_number(how, "epoch", -1),
                            committed_metadata=str(how.get("metadata", "")),
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        response = self.do(
            self.shard.offsets.commit(request, version=version, now=self.moment, token=1)
        )
        assert isinstance(response, OffsetCommitResponse)
        codes = [p.error_code for topic in response.topics for p in topic.partitions]
        return dict(zip(offsets, codes, strict=True))

    def commit_in_transaction(
        self, group_id: str, offsets: dict[Where, int], producer: Producer, **how: object
    ) -> dict[Where, int]:
        request = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=group_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            member_id=str(how.get("member", "")),
            generation_id=_number(how, "generation", -1),
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        response = self.do(
            self.shard.offsets.commit_in_transaction(request, version=5, now=self.moment, token=1)
        )
        assert isinstance(response, TxnOffsetCommitResponse)
        codes = [p.error_code for topic in response.topics for p in topic.partitions]
        return dict(zip(offsets, codes, strict=True))

    def end(self, producer: Producer, is_commit: bool) -> None:
        self.log.append(Marker(producer, is_commit))
        self.shard.replay_end(producer, is_commit)
        self.shard.check_invariants()

    def fetch(
        self, group_id: str, *asked: Where, stable: bool = False
    ) -> dict[Where, tuple[int, str, int]]:
        """Offset, metadata and error code of each partition; of all that were committed, if none is named."""
        topics = [
            OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])
            for topic, partition in asked
        ]
        group = self.shard.offsets.fetch(
            OffsetFetchRequestGroup(group_id=group_id, topics=topics or None),
            version=9,
            require_stable=stable,
        )
        return {
            (topic.name, p.partition_index): (p.committed_offset, p.metadata or "", p.error_code)
            for topic in group.topics
            for p in topic.partitions
        }

    def offsets_of(self, group_id: str) -> dict[Where, int]:
        return {where: found[0] for where, found in self.fetch(group_id).items()}


def _number(how: dict[str, object], name: str, default: int) -> int:
    value = how.get(name, default)
    assert isinstance(value, int)
    return value
