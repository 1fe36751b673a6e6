"""Offsets: how far each group has read.

A commit becomes a record and counts when the record is replayed; within a transaction, when the transaction commits.
A consumer that shares its partitions with nobody commits under a group without members, which is there only to hold
offsets: the first commit makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.base.token import Token
from klamm.coordinator.group.committed.commit import Asked, Commit
from klamm.coordinator.group.committed.expiry import expired
from klamm.coordinator.group.committed.offset_fetch import OffsetReading
from klamm.coordinator.group.committed.pending import Committed, PendingOffsets, Place
from klamm.coordinator.group.committed.store import OffsetStore
from klamm.coordinator.group.kind import PartitionCheck
from klamm.coordinator.group.records import no_offset
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.group import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from klamm.coordinator.shard import NOTHING, Outcome, Producer, first_that_fit
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
)
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

_EXPIRY = ("offsets", "expiry")
_DELETED = ("offsets", "deleted")
_MINUTE_MS = 60_000
_NO_RETENTION = -1
# Versions of OffsetCommit and OffsetFetch: topics are named by their id; a missing group is called that.
_TOPIC_IDS = 10
_MISSING_GROUPS = 9


class Offsets:
    record_keys: tuple[type, ...] = (OffsetCommitKey, LegacyOffsetCommitKey)

    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self._store = OffsetStore()
        self._pending = PendingOffsets()
        # Of deleted topics: what is to go, and the newest record that counts as theirs.
        self._going: dict[Place, int] = {}

    # -- committing -------------------------------------------------------------------------------------------------

    def commit(
        self, request: OffsetCommitRequest, *, version: int, now: Now, token: Token
    ) -> Outcome:
        try:
            return self._commit(request, version, now, token, None)
        except ApiError as e:
            return self._commit(request, version, now, token, e.code)

    def _commit(
        self,
        request: OffsetCommitRequest,
        version: int,
        now: Now,
        token: Token,
        refusal: ErrorCode | None,
    ) -> Outcome:
        retention = request.retention_time_ms
        commit = Commit(
            request.group_id,
            partial(self._admit, request, version, now),
            now=now.wall,
            most_metadata=self._shard.settings.offset_metadata_max_bytes,
            expires_at=None if retention == _NO_RETENTION else now.wall + retention,
            refusal=refusal,
        )
        topics = [self._commit_topic(commit, topic, version) for topic in request.topics]
        return Outcome(
            commit.records,
            ((token, OffsetCommitResponse(topics=topics)),),
            if_too_large=ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        )

    def _commit_topic(
        self, commit: Commit, topic: OffsetCommitRequestTopic, version: int
    ) -> OffsetCommitResponseTopic:
        if version >= _TOPIC_IDS:
            known = self._shard.image.topics_by_id.get(topic.topic_id)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            known = self._shard.image.topics_by_name.get(topic.name)
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(
                    partition_index=asked.partition_index,
                    error_code=unknown if known is None else commit.take(known, asked),
                )
                for asked in topic.partitions
            ],
        )

    def _admit(self, request: OffsetCommitRequest, version: int, now: Now) -> PartitionCheck | None:
        generation = request.generation_id_or_member_epoch
        group = self._shard.groups.get(request.group_id)
        if group is None:
            if generation < 0:
                return None
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND
                if version >= _MISSING_GROUPS
                else ErrorCode.ILLEGAL_GENERATION
            )
        check = group.check_commit(
            request.member_id,
            request.group_instance_id,
            generation,
            is_transactional=False,
            version=version,
        )
        self._shard.classic.renew_session(group, request.member_id, now.monotonic)
        return check

    def plain_commit(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        topic: TopicImage,
        asked: Asked,
        *,
        version: int,
        now: Now,
    ) -> CoordinatorRecord | None:
        """A commit as nearly all are: of one partition, by a member of a classic group. None if it is not that plain."""
        group = self._shard.classic.find(group_id)
        if group is None or member_id not in group.members:
            return None
        commit = Commit(
            group_id,
            lambda: group.check_commit(
                member_id, None, generation, is_transactional=False, version=version
            ),
            now=now.wall,
            most_metadata=self._shard.settings.offset_metadata_max_bytes,
        )
        try:
            commit.take(topic, asked)
        except ApiError:
            return None
        if not commit.records:
            return None
        self._shard.classic.renew_session(group, member_id, now.monotonic)
        return commit.records[0]

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, *, version: int, now: Now, token: Token
    ) -> Outcome:
        """The offsets count when the producer's transaction commits. The producer is checked already."""
        try:
            return self._commit_pending(request, version, now, token, None)
        except ApiError as e:
            # Producers know no member epochs.
            is_stale = e.code is ErrorCode.STALE_MEMBER_EPOCH
            code = ErrorCode.ILLEGAL_GENERATION if is_stale else e.code
            return self._commit_pending(request, version, now, token, code)

    def _commit_pending(
        self,
        request: TxnOffsetCommitRequest,
        version: int,
        now: Now,
        token: Token,
        refusal: ErrorCode | None,
    ) -> Outcome:
        commit = Commit(
            request.group_id,
            partial(self._admit_producer, request, version),
            now=now.wall,
            most_metadata=self._shard.settings.offset_metadata_max_bytes,
            refusal=refusal,
            names_topic_id=False,
        )
        topics = []
        for topic in request.topics:
            known = self._shard.image.topics_by_name.get(topic.name)
            answers = [
                TxnOffsetCommitResponsePartition(
                    partition_index=asked.partition_index,
                    error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if known is None
                    else commit.take(known, asked),
                )
                for asked in topic.partitions
            ]
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
        return Outcome(
            commit.records,
            ((token, TxnOffsetCommitResponse(topics=topics)),),
            Producer(request.producer_id, request.producer_epoch),
            if_too_large=ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        )

    def _admit_producer(
        self, request: TxnOffsetCommitRequest, version: int
    ) -> PartitionCheck | None:
        group = self._shard.groups.get(request.group_id)
        if group is None:
            if request.generation_id < 0:
                return None
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        return group.check_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            version=version,
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    def fetch(
        self, asked: OffsetFetchRequestGroup, *, version: int, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        group = self._shard.groups.get(asked.group_id)
        if group is not None:
            group.check_fetch(asked.member_id, asked.member_epoch)
        reading = OffsetReading(
            asked.group_id,
            self._store,
            self._pending,
            self._shard.image,
            by_id=version >= _TOPIC_IDS,
            require_stable=require_stable,
        )
        topics = reading.all() if asked.topics is None else reading.some(asked.topics)
        return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)

    # -- deleting ---------------------------------------------------------------------------------------------------

    def delete(self, request: OffsetDeleteRequest, *, token: Token) -> Outcome:
        if not request.group_id:
            raise ApiError(ErrorCode.INVALID_GROUP_ID)
        group = self._shard.groups.get(request.group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        group.check_offset_delete()
        records: list[CoordinatorRecord] = []
        response = OffsetDeleteResponse()
        for topic in request.topics:
            is_subscribed = group.is_subscribed_to(topic.name)
            answer = OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(answer)
            for asked in topic.partitions:
                place = Place(request.group_id, topic.name, asked.partition_index)
                code = ErrorCode.NONE
                if self._shard.image.partition(topic.name, asked.partition_index) is None:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif is_subscribed:
                    code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                elif self._store.get(place) is not None or self._pending.is_pending(*place):
                    records.append(no_offset(*place))
                answer.partitions.append(
                    OffsetDeleteResponsePartition(
                        partition_index=asked.partition_index, error_code=code
                    )
                )
        return Outcome(records, ((token, response),), if_too_large=ErrorCode.UNKNOWN_SERVER_ERROR)

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """What removes all offsets of a group, those of open transactions too."""
        places = {
            (topic, partition): None
            for topic, partitions in self._store.of_group(group_id).items()
            for partition in partitions
        }
        places.update(dict.fromkeys(self._pending.partitions_of(group_id)))
        return [no_offset(group_id, *place) for place in places]

    def follow(self, before: ClusterImage, now: Now) -> Outcome:
        """The offsets of a deleted topic go, so that a new one of its name is read from its own start."""
        image = self._shard.image
        if image.topics_by_name is before.topics_by_name:
            return NOTHING
        for topic in self._topics():
            old, new = before.topics_by_name.get(topic), image.topics_by_name.get(topic)
            if old is None or (new is not None and new.topic_id == old.topic_id):
                continue
            for place, committed in self._of_topic(topic):
                if committed.value.topic_id in (ZERO_UUID, old.topic_id):
                    self._going[place] = max(committed.record_offset, self._going.get(place, 0))
        return self._forget_deleted(now)

    def _forget_deleted(self, now: Now) -> Outcome:
        """As many at a time as can be written. What was committed meanwhile, for a new topic of the name, stays."""
        newest: dict[Place, int] = {}
        for topic in {place.topic: None for place in self._going}:
            for place, committed in self._of_topic(topic):
                newest[place] = max(committed.record_offset, newest.get(place, 0))
        places = [place for place, at in self._going.items() if newest.get(place, at + 1) <= at]
        records = first_that_fit((no_offset(*place) for place in places), self._shard.room)
        self._going = {place: self._going[place] for place in places[len(records) :]}
        if self._going:
            self._shard.deadlines.set(_DELETED, now.monotonic)
        return Outcome(records) if records else NOTHING

    def _of_topic(self, topic: str) -> Iterator[tuple[Place, Committed]]:
        yield from self._store.of_topic(topic)
        yield from self._pending.of_topic(topic)

    def _topics(self) -> set[str]:
        return {*self._store.topics(), *self._pending.topics()}

    # -- time -------------------------------------------------------------------------------------------------------

    def loaded(self, now: Now) -> Outcome:
        self._expect_expiry(now)
        return NOTHING

    def wake(self, key: tuple[object, ...], now: Now) -> Outcome:
        if key == _DELETED:
            return self._forget_deleted(now)
        tombstones = expired(
            self._shard.groups.values(),
            self._store,
            self._pending,
            retention_ms=self._shard.settings.offsets_retention_minutes * _MINUTE_MS,
            now=now.wall,
        )
        records = first_that_fit(tombstones, self._shard.room)
        if not records:
            self._expect_expiry(now)
            return NOTHING
        # There may be more; if not, the next look finds nothing.
        self._shard.deadlines.set(_EXPIRY, now.monotonic)
        return Outcome(records)

    def _expect_expiry(self, now: Now) -> None:
        self._shard.deadlines.set(
            _EXPIRY, now.monotonic + self._shard.settings.offsets_retention_check_interval_ms
        )

    # -- replaying --------------------------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        key, value = record.key, record.value
        assert isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey)
        if value is None:
            place = Place(key.group, key.topic, key.partition)
            self._store.remove(place)
            self._pending.forget(place)
            return
        if isinstance(value, LegacyOffsetCommitValue):
            value = _modern(value)
        assert isinstance(value, OffsetCommitValue)
        if key.group not in self._shard.groups:
            self._shard.classic.create_simple(key.group)
        committed = Committed(value, offset)
        if producer is None:
            self._store.put(key.group, key.topic, key.partition, committed)
        else:
            place = Place(key.group, key.topic, key.partition)
            self._pending.add(producer.id, place, committed)

    def replay_end(self, producer: Producer, is_commit: bool) -> None:
        ended = self._pending.end(producer.id)
        if not is_commit:
            return
        for place, committed in ended.items():
            current = self._store.get(place)
            if current is None or committed.record_offset > current.record_offset:
                self._store.put(*place, committed)

    def check_invariants(self) -> None:
        self._store.check_invariants()
        self._pending.check_invariants()
        for group_id in (*self._store.groups(), *self._pending.groups()):
            assert group_id in self._shard.groups, group_id


def _modern(value: LegacyOffsetCommitValue) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
    )
