"""A member of a classic group: joins, beats, rebalances, leaves.

Eager groups give everything up before each round; cooperative ones keep reading what stays theirs, and take a second
round for what moves. A group is cooperative only if every assignor it may choose is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from klamm.base.errors import ApiError, ErrorCode
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.consumer.join_group import FORGOTTEN, Identity, Joining, Round
from klamm.client.consumer.membership import Changes, Subscription
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.offsets import GroupMetadata
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

_LEAVE_WITHIN_MS = 5_000


class ClassicMembership:
    """`step` runs inside polls; joining and beating are tasks beside them, awaited by `leave`."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        subscription: Subscription,
        changes: Changes,
        news: Callable[[], None],
    ) -> None:
        assert settings.group_id is not None
        self._group_id = settings.group_id
        self._cluster = cluster
        self._settings = settings
        self._subscription = subscription
        self._changes = changes
        self._news = news
        self._is_cooperative = all(assignor.is_cooperative for assignor in settings.assignors)
        self._identity = Identity()
        self._joining = Joining(
            cluster, settings, self._identity, self._topics, lambda: changes.assignment.partitions
        )
        self._round: asyncio.Task[Round] | None = None
        self._beats: asyncio.Task[None] | None = None
        self._needs_round = True
        self._is_lost = False
        self._failure: ApiError | None = None
        # What this member went by when it last made the assignments, if it did.
        self._counts: Mapping[str, int] = {}
        self._joined_topics: frozenset[str] = frozenset()
        self._polled_at = 0.0

    @property
    def metadata(self) -> GroupMetadata:
        return GroupMetadata(
            self._group_id,
            self._identity.generation,
            self._identity.member_id,
            self._settings.group_instance_id,
        )

    async def step(self) -> None:
        self._polled_at = asyncio.get_running_loop().time()
        if self._failure is not None:
            raise self._failure
        if self._is_lost:
            self._is_lost = False
            await self._changes.lose()
        if self._round is None and self._metadata_changed():
            self._needs_round = True
        if self._round is None and self._needs_round:
            await self._begin_round()
        if self._round is not None and self._round.done():
            await self._end_round()

    def commit_refused(self, code: ErrorCode) -> None:
        """Heartbeats would tell us, too, but perhaps after the next poll: that must not ask for a last commit."""
        if self._round is None and code in FORGOTTEN:
            self._lose(code)

    async def leave(self) -> None:
        """A static member stays: it is expected back."""
        if self._round is not None and not self._round.done():
            # The broker reads nothing more from a connection whose JoinGroup it has not answered.
            self._cluster.hang_up(CoordinatorKind.GROUP, self._group_id)
        for task in (self._round, self._beats):
            await _end(task)
        if self._identity.generation >= 0:
            await self._changes.revoke(list(self._changes.assignment))
        if self._identity.member_id and self._settings.group_instance_id is None:
            await self._send_leave(self._identity.member_id, "the consumer is being closed")
        self._identity.forget(ErrorCode.UNKNOWN_MEMBER_ID)

    # Rounds.

    async def _begin_round(self) -> None:
        if not self._is_cooperative:
            await self._changes.revoke(list(self._changes.assignment))
        self._needs_round = False
        self._joined_topics = frozenset(await self._current_topics())
        self._round = asyncio.create_task(self._joining.round())
        self._round.add_done_callback(lambda _: self._news())

    async def _end_round(self) -> None:
        assert self._round is not None
        task, self._round = self._round, None
        try:
            ended = task.result()
        except ApiError as e:
            self._failure = e
            raise
        self._counts = ended.counts
        self._begin_to_beat()
        try:
            await self._adopt(ended)
        except BaseException:
            # A listener failed, or the poll was cancelled: what we hold is not what the group thinks.
            self._needs_round = True
            raise

    async def _adopt(self, ended: Round) -> None:
        owned = set(self._changes.assignment)
        revoked = owned - ended.assigned
        if revoked:
            await self._changes.revoke(revoked)
            # Their new owners get them in the next round.
            self._needs_round = True
            self._news()
        await self._changes.give(ended.assigned - owned)

    def _topics(self) -> frozenset[str]:
        return self._joined_topics

    async def _current_topics(self) -> frozenset[str]:
        if self._subscription.pattern is not None and not self._cluster.view.topics:
            await self._cluster.persist(lambda: self._cluster.refresh(None))
        return self._subscription.matching(self._cluster.view.topics)

    def _metadata_changed(self) -> bool:
        """A topic that the pattern matches came or went, or one has grown since the leader dealt it out."""
        topics = self._cluster.view.topics
        if self._subscription.matching(topics) != self._joined_topics and self._counts_known:
            return True
        return any(
            name in topics and topics[name].count != count for name, count in self._counts.items()
        )

    @property
    def _counts_known(self) -> bool:
        return self._subscription.pattern is not None and self._identity.generation >= 0

    # Heartbeats.

    def _begin_to_beat(self) -> None:
        if self._beats is None or self._beats.done():
            self._beats = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        """Say that we live, for as long as polls come often enough; hear of rebalances."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._settings.heartbeat_interval_ms / 1000)
            if self._round is not None or self._identity.generation < 0:
                continue
            if loop.time() - self._polled_at > self._settings.max_poll_interval_ms / 1000:
                member_id = self._identity.member_id
                self._lose(ErrorCode.UNKNOWN_MEMBER_ID)
                await self._send_leave(member_id, "polls came too seldom")
                continue
            with suppress(ApiError):
                if not await self._beat_once():
                    return

    async def _beat_once(self) -> bool:
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self._identity.generation,
            member_id=self._identity.member_id,
            group_instance_id=self._settings.group_instance_id,
        )
        answer = await self._cluster.ask_coordinator(
            CoordinatorKind.GROUP, self._group_id, request, HeartbeatResponse
        )
        if self._round is not None or request.generation_id != self._identity.generation:
            return True
        code = answer.error_code
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._needs_round = True
            self._news()
            return True
        try:
            self._cluster.judge(CoordinatorKind.GROUP, self._group_id, code)
        except ApiError as e:
            if e.code in FORGOTTEN:
                self._lose(e.code)
                return False
            if not e.code.retriable:
                self._failure = e
                self._news()
                return False
        return True

    def _lose(self, code: ErrorCode) -> None:
        self._identity.forget(code)
        self._is_lost = True
        self._needs_round = True
        self._news()

    async def _send_leave(self, member_id: str, reason: str) -> None:
        identity = MemberIdentity(
            member_id=member_id,
            group_instance_id=self._settings.group_instance_id,
            reason=reason,
        )
        request = LeaveGroupRequest(
            group_id=self._group_id, member_id=member_id, members=[identity]
        )

        async def attempt() -> None:
            answer = await self._cluster.ask_coordinator(
                CoordinatorKind.GROUP, self._group_id, request, LeaveGroupResponse
            )
            self._cluster.judge(CoordinatorKind.GROUP, self._group_id, answer.error_code)

        # Whoever does not hear of it waits for the session to time out.
        with suppress(ApiError):
            await self._cluster.persist(attempt, within_ms=_LEAVE_WITHIN_MS)


async def _end(task: asyncio.Task[Round] | asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
