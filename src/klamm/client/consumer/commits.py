"""A group's committed offsets: reading and writing them at its coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.client.cluster import NO_SUCH_THING, Cluster, CoordinatorKind
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.consumer.state import Assignment
from klamm.client.errors import CommitFailed
from klamm.client.metadata import ClusterView
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

Offsets = Mapping[TopicPartition, CommittedOffset]

# The last versions that name topics instead of giving their ids.
_BY_NAME = 9
# What a commit gets whose member is not one any more.
_LOST_MEMBER = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)


class Commits:
    """A consumer's commits: by hand, now and then by itself, and before it gives partitions up."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        assignment: Assignment,
        who: Callable[[], GroupMetadata],
        refused: Callable[[ErrorCode], None],
    ) -> None:
        """refused: hears that the group does not know this member any more."""
        self._cluster = cluster
        self._settings = settings
        self._assignment = assignment
        self._who = who
        self._refused = refused
        self._running: asyncio.Task[None] | None = None
        self._next_at: float | None = None

    async def commit(self, offsets: Offsets | None = None) -> None:
        wanted = self._assignment.consumed() if offsets is None else offsets
        before = self._who()
        try:
            await commit_offsets(self._cluster, self._who, wanted)
        except CommitFailed as e:
            if self._who() == before:
                self._refused(e.code)
            raise

    def commit_soon(self, offsets: Offsets | None = None) -> asyncio.Task[None]:
        earlier = self._running
        wanted = self._assignment.consumed() if offsets is None else dict(offsets)

        async def run() -> None:
            if earlier is not None:
                await asyncio.wait([earlier])
            await self.commit(wanted)

        self._running = asyncio.create_task(run())
        return self._running

    def commit_if_due(self, now: float) -> None:
        """Called by every poll, before it gives out more: what went out earlier counts as read."""
        if not self._happen_by_themselves:
            return
        interval = self._settings.auto_commit_interval_ms / 1000
        if self._next_at is None:
            self._next_at = now + interval
        is_busy = self._running is not None and not self._running.done()
        if now < self._next_at or is_busy:
            return
        self._next_at = now + interval
        # A commit that fails is made good by the next one.
        self.commit_soon().add_done_callback(_look_at)

    async def before_revocation(self) -> None:
        if not self._happen_by_themselves:
            return
        within_ms = self._settings.request_timeout_ms
        if self._running is not None:
            await asyncio.wait([self._running], timeout=within_ms / 1000)
        with suppress(ApiError):
            await commit_offsets(
                self._cluster, self._who, self._assignment.consumed(), within_ms=within_ms
            )

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    @property
    def _happen_by_themselves(self) -> bool:
        return self._settings.auto_commit and self._settings.group_id is not None


def _look_at(task: asyncio.Task[None]) -> None:
    """So that asyncio does not complain of a failure that nobody asked about."""
    if not task.cancelled():
        task.exception()


async def commit_offsets(
    cluster: Cluster,
    who: Callable[[], GroupMetadata],
    offsets: Offsets,
    *,
    within_ms: int | None = None,
) -> None:
    """Commit all of them. Tries again for as long as only the coordinator is to blame, as who we are by then."""
    if not offsets:
        return

    async def attempt() -> None:
        view = cluster.view
        group = who()
        answer = await cluster.ask_coordinator(
            CoordinatorKind.GROUP,
            group.group_id,
            _commit_request(group, offsets, view),
            OffsetCommitResponse,
            at_most=None if _all_have_ids(offsets, view) else _BY_NAME,
        )
        for part in (part for topic in answer.topics for part in topic.partitions):
            _judge(cluster, group.group_id, part.error_code)

    await cluster.persist(
        attempt,
        within_ms=within_ms,
        also={ErrorCode.STALE_MEMBER_EPOCH},
        never=NO_SUCH_THING,
    )


async def fetch_committed(
    cluster: Cluster,
    group_id: str,
    partitions: Collection[TopicPartition] | None,
    *,
    require_stable: bool = True,
) -> dict[TopicPartition, CommittedOffset]:
    """What the group has committed of these partitions, or of all (None); only those that have something."""

    async def attempt() -> dict[TopicPartition, CommittedOffset]:
        view = cluster.view
        request = _fetch_request(group_id, partitions, view, require_stable)
        by_id = partitions is not None and _all_have_ids(partitions, view)
        answer = await cluster.ask_coordinator(
            CoordinatorKind.GROUP,
            group_id,
            request,
            OffsetFetchResponse,
            at_most=None if by_id else _BY_NAME,
        )
        return _read(cluster, group_id, answer, view)

    return await cluster.persist(attempt)


def _judge(cluster: Cluster, group_id: str, code: int) -> None:
    if code in _LOST_MEMBER:
        raise CommitFailed(code_of(code), "the group has gone on without this member")
    cluster.judge(CoordinatorKind.GROUP, group_id, code)


def _all_have_ids(partitions: Iterable[TopicPartition], view: ClusterView) -> bool:
    topics = [view.topics.get(partition.topic) for partition in partitions]
    return all(topic is not None and topic.topic_id != ZERO_UUID for topic in topics)


def _commit_request(
    group: GroupMetadata, offsets: Offsets, view: ClusterView
) -> OffsetCommitRequest:
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (name, index), committed in sorted(offsets.items()):
        known = view.topics.get(name)
        topic_id = ZERO_UUID if known is None else known.topic_id
        topic = topics.setdefault(name, OffsetCommitRequestTopic(name=name, topic_id=topic_id))
        topic.partitions.append(
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=group.group_id,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=list(topics.values()),
    )


def _fetch_request(
    group_id: str,
    partitions: Collection[TopicPartition] | None,
    view: ClusterView,
    require_stable: bool,
) -> OffsetFetchRequest:
    indexes: dict[str, list[int]] = {}
    for name, index in sorted(partitions or ()):
        indexes.setdefault(name, []).append(index)
    by_group = [
        OffsetFetchRequestTopics(
            name=name,
            topic_id=view.topics[name].topic_id if name in view.topics else ZERO_UUID,
            partition_indexes=wanted,
        )
        for name, wanted in indexes.items()
    ]
    plain = [
        OffsetFetchRequestTopic(name=name, partition_indexes=wanted)
        for name, wanted in indexes.items()
    ]
    return OffsetFetchRequest(
        group_id=group_id,
        topics=None if partitions is None else plain,
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=None if partitions is None else by_group,
            )
        ],
        require_stable=require_stable,
    )


def _read(
    cluster: Cluster, group_id: str, answer: OffsetFetchResponse, view: ClusterView
) -> dict[TopicPartition, CommittedOffset]:
    found: dict[TopicPartition, CommittedOffset] = {}
    _judge(cluster, group_id, answer.error_code)
    parts = [(t.name, part) for t in answer.topics for part in t.partitions]
    for group in answer.groups:
        _judge(cluster, group_id, group.error_code)
        for topic in group.topics:
            name = topic.name if topic.topic_id == ZERO_UUID else view.name_of(topic.topic_id)
            for entry in topic.partitions:
                _judge(cluster, group_id, entry.error_code)
                if entry.committed_offset >= 0:
                    found[TopicPartition(name or "", entry.partition_index)] = CommittedOffset(
                        entry.committed_offset, entry.committed_leader_epoch, entry.metadata or ""
                    )
    for name, part in parts:
        _judge(cluster, group_id, part.error_code)
        if part.committed_offset >= 0:
            found[TopicPartition(name, part.partition_index)] = CommittedOffset(
                part.committed_offset, part.committed_leader_epoch, part.metadata or ""
            )
    return found
