"""A member of a consumer group (KIP-848): the broker assigns, heartbeats carry everything.

A beat says what changed on our side, its answer what changed on the broker's. Partitions are given up and taken over
inside polls, and the next beat confirms it.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.consumer.join_group import by_topic
from klamm.client.consumer.membership import Changes, Subscription
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.offsets import GroupMetadata
from klamm.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_JOINING = 0
_LEAVING = -1
# A static member that will be back.
_LEAVING_FOR_NOW = -2
_FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
_FIRST_INTERVAL_MS = 1_000
_LEAVE_WITHIN_MS = 5_000


class ServerSideMembership:
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
        bits = cluster.environment.rng.getrandbits(128)
        self._member_id = urlsafe_b64encode(bits.to_bytes(16, "big")).rstrip(b"=").decode()
        self._epoch = _JOINING
        self._interval_ms = _FIRST_INTERVAL_MS
        # What the broker assigned, by topic ids, until metadata has the names; then by names, until a poll takes it.
        self._unnamed: Assignment | None = None
        self._target: frozenset[TopicPartition] | None = None
        self._must_confirm = False
        self._is_lost = False
        self._failure: ApiError | None = None
        self._beats: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._polled_at = 0.0

    @property
    def metadata(self) -> GroupMetadata:
        return GroupMetadata(
            self._group_id, self._epoch, self._member_id, self._settings.group_instance_id
        )

    async def step(self) -> None:
        self._polled_at = asyncio.get_running_loop().time()
        if self._failure is not None:
            raise self._failure
        if self._is_lost:
            self._is_lost = False
            await self._changes.lose()
        if self._beats is None or self._beats.done():
            self._beats = asyncio.create_task(self._beat())
        if self._target is not None:
            await self._reconcile(self._target)

    def commit_refused(self, code: ErrorCode) -> None:
        """The next heartbeat tells what to do."""

    async def leave(self) -> None:
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.wait([self._beats])
        if self._epoch > 0:
            await self._changes.revoke(list(self._changes.assignment))
        is_static = self._settings.group_instance_id is not None
        await self._send_leave(_LEAVING_FOR_NOW if is_static else _LEAVING)

    async def _reconcile(self, target: frozenset[TopicPartition]) -> None:
        """If a listener fails, or the poll is cancelled, the next poll goes on with what is left to do."""
        owned = set(self._changes.assignment)
        await self._changes.revoke(owned - target)
        if target - owned or not owned:
            await self._changes.give(target - owned)
        if self._target == target:
            self._target = None
        self._must_confirm = True
        self._hurry.set()

    # Heartbeats.

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        tries = 0
        while True:
            self._hurry.clear()
            if loop.time() - self._polled_at > self._settings.max_poll_interval_ms / 1000:
                await self._stop_for_lack_of_polls()
                return
            try:
                await self._beat_once()
                tries = 0
                delay_ms: float = self._interval_ms
            except ApiError as e:
                if not e.code.retriable and e.code not in _FENCED:
                    self._failure = e
                    self._news()
                    return
                if e.code in _FENCED:
                    self._fence()
                delay_ms = self._cluster.retry_delay_ms(tries)
                tries += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(delay_ms / 1000):
                    await self._hurry.wait()

    async def _beat_once(self) -> None:
        is_confirming = self._must_confirm or self._epoch == _JOINING
        self._must_confirm = False
        try:
            answer = await self._ask(self._request(is_confirming))
            self._cluster.judge(
                CoordinatorKind.GROUP, self._group_id, answer.error_code, answer.error_message
            )
        except ApiError:
            # It has not been heard.
            self._must_confirm |= is_confirming
            raise
        self._epoch = answer.member_epoch
        self._interval_ms = answer.heartbeat_interval_ms or self._interval_ms
        if answer.assignment is not None:
            self._unnamed = answer.assignment
        await self._name_assignment()

    def _request(self, is_confirming: bool) -> ConsumerGroupHeartbeatRequest:
        """Fields that are as the broker knows them stay away; all of them are there when joining."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=self._epoch,
            instance_id=self._settings.group_instance_id,
        )
        if self._epoch == _JOINING:
            request.rack_id = self._settings.rack or None
            request.rebalance_timeout_ms = self._settings.max_poll_interval_ms
            request.server_assignor = self._settings.remote_assignor
            pattern = self._subscription.pattern
            if pattern is None:
                request.subscribed_topic_names = sorted(self._subscription.topics)
            else:
                request.subscribed_topic_regex = pattern.pattern
        if is_confirming:
            request.topic_partitions = self._owned()
        return request

    def _owned(self) -> list[TopicPartitions]:
        topics = self._cluster.view.topics
        return [
            TopicPartitions(topic_id=topics[name].topic_id, partitions=indexes)
            for name, indexes in by_topic(self._changes.assignment.partitions).items()
            if name in topics
        ]

    def _leaving(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._settings.group_instance_id,
        )

    async def _ask(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        return await self._cluster.ask_coordinator(
            CoordinatorKind.GROUP, self._group_id, request, ConsumerGroupHeartbeatResponse
        )

    async def _name_assignment(self) -> None:
        """A topic that metadata does not have yet is worth another beat: the broker tells an assignment only once."""
        if self._unnamed is None:
            return
        found: set[TopicPartition] = set()
        for row in self._unnamed.topic_partitions:
            name = await self._name_of(row.topic_id)
            found.update(TopicPartition(name, index) for index in row.partitions)
        self._unnamed = None
        self._target = frozenset(found)
        self._news()

    async def _name_of(self, topic_id: Uuid) -> str:
        name = self._cluster.view.name_of(topic_id)
        if name is None:
            pattern = self._subscription.pattern
            await self._cluster.refresh(None if pattern else sorted(self._subscription.topics))
            name = self._cluster.view.name_of(topic_id)
        if name is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"topic {topic_id} is not known yet")
        return name

    def _fence(self) -> None:
        """The group has gone on without us: give everything up and join again."""
        self._epoch = _JOINING
        self._unnamed = self._target = None
        self._is_lost = True
        self._news()

    async def _stop_for_lack_of_polls(self) -> None:
        await self._send_leave(_LEAVING)
        self._fence()

    async def _send_leave(self, epoch: int) -> None:
        async def attempt() -> None:
            answer = await self._ask(self._leaving(epoch))
            self._cluster.judge(CoordinatorKind.GROUP, self._group_id, answer.error_code)

        # Whoever does not hear of it waits for the session to time out.
        with suppress(ApiError):
            await self._cluster.persist(attempt, within_ms=_LEAVE_WITHIN_MS)
