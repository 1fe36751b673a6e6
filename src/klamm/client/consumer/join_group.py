"""One round of the classic protocol: JoinGroup, the leader's assignment, SyncGroup."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.consumer.assignors.assignor import Assignments, Assignor, Member
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.errors import Unsupported
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from klamm.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from klamm.protocol.wire import Buffer

T = TypeVar("T")

PROTOCOL_TYPE = "consumer"
_NEWEST = 3
_VERSION_BYTES = 2
# The broker answers a join when the round is over; it may take this much longer than it says.
_GRACE_MS = 5_000
_FOR_EVER_MS = 0x7FFFFFFF
# After these a member begins anew, without its old id.
FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


@dataclass(slots=True)
class Identity:
    """Who this member is in the current round; generation -1: in none."""

    member_id: str = ""
    generation: int = -1

    def forget(self, code: ErrorCode) -> None:
        self.generation = -1
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""


@dataclass(frozen=True, slots=True)
class Round:
    """How it ended for this member. `counts`: what the leader went by; empty for the others."""

    assigned: frozenset[TopicPartition]
    counts: Mapping[str, int]


@dataclass(slots=True)
class Joining:
    cluster: Cluster
    settings: ConsumerSettings
    identity: Identity
    topics: Callable[[], Collection[str]]
    owned: Callable[[], Collection[TopicPartition]]

    async def round(self) -> Round:
        """Again and again until a round was closed with this member in it."""
        tries = [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED, *FORGOTTEN]
        # Somebody has to answer for the group; a coordinator that is away for long is waited for.
        return await self.cluster.persist(self._attempt, within_ms=_FOR_EVER_MS, also=tries)

    async def _attempt(self) -> Round:
        try:
            joined = await self._join()
            counts: dict[str, int] = {}
            shares: list[SyncGroupRequestAssignment] = []
            if joined.leader == joined.member_id and not joined.skip_assignment:
                members = [
                    _member(row.member_id, row.group_instance_id, row.metadata)
                    for row in joined.members
                ]
                counts = await self._counts({t for member in members for t in member.topics})
                shares = _shares(self._assignor(joined.protocol_name).assign(members, counts))
            return Round(await self._sync(joined, shares), counts)
        except ApiError as e:
            if e.code in FORGOTTEN:
                self.identity.forget(e.code)
            raise

    async def _join(self) -> JoinGroupResponse:
        settings = self.settings
        request = JoinGroupRequest(
            group_id=settings.group_id or "",
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            member_id=self.identity.member_id,
            group_instance_id=settings.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=assignor.name, metadata=self._metadata())
                for assignor in settings.assignors
            ],
        )
        answer = await self._ask(request, JoinGroupResponse)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.identity.member_id = answer.member_id
            return await self._join()
        self._judge(answer.error_code)
        self.identity.member_id = answer.member_id
        self.identity.generation = answer.generation_id
        return answer

    async def _sync(
        self, joined: JoinGroupResponse, shares: list[SyncGroupRequestAssignment]
    ) -> frozenset[TopicPartition]:
        request = SyncGroupRequest(
            group_id=self.settings.group_id or "",
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self.settings.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=shares,
        )
        answer = await self._ask(request, SyncGroupResponse)
        self._judge(answer.error_code)
        return read_assignment(answer.assignment)

    async def _counts(self, topics: Collection[str]) -> dict[str, int]:
        """Partitions of each topic, as they are now."""
        await self.cluster.refresh(topics)
        view = self.cluster.view
        return {topic: view.topics[topic].count for topic in sorted(topics) if topic in view.topics}

    def _assignor(self, name: str | None) -> Assignor:
        for assignor in self.settings.assignors:
            if assignor.name == name:
                return assignor
        raise Unsupported(f"the group chose {name}, which this consumer does not have")

    def _metadata(self) -> bytes:
        owned = [
            ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in by_topic(self.owned()).items()
        ]
        subscription = ConsumerProtocolSubscription(
            topics=sorted(self.topics()),
            owned_partitions=owned,
            generation_id=self.identity.generation,
            rack_id=self.settings.rack or None,
        )
        return _NEWEST.to_bytes(_VERSION_BYTES, "big") + encode(subscription, _NEWEST)

    async def _ask(self, request: object, answer: type[T]) -> T:
        return await self.cluster.ask_coordinator(
            CoordinatorKind.GROUP,
            self.settings.group_id or "",
            request,
            answer,
            timeout_ms=self.settings.max_poll_interval_ms + _GRACE_MS,
        )

    def _judge(self, code: int) -> None:
        self.cluster.judge(CoordinatorKind.GROUP, self.settings.group_id or "", code)


def by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        found.setdefault(topic, []).append(index)
    return found


def _member(member_id: str, group_instance_id: str | None, metadata: Buffer) -> Member:
    subscription = decode(
        ConsumerProtocolSubscription, _version_of(metadata), metadata[_VERSION_BYTES:]
    )
    return Member(
        member_id=member_id,
        topics=tuple(subscription.topics),
        owned=tuple(
            TopicPartition(row.topic, index)
            for row in subscription.owned_partitions
            for index in row.partitions
        ),
        generation=subscription.generation_id,
        group_instance_id=group_instance_id,
    )


def _shares(assignments: Assignments) -> list[SyncGroupRequestAssignment]:
    return [
        SyncGroupRequestAssignment(member_id=member_id, assignment=write_assignment(partitions))
        for member_id, partitions in assignments.items()
    ]


def write_assignment(partitions: Collection[TopicPartition]) -> bytes:
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in by_topic(partitions).items()
        ]
    )
    return _NEWEST.to_bytes(_VERSION_BYTES, "big") + encode(assignment, _NEWEST)


def read_assignment(data: Buffer) -> frozenset[TopicPartition]:
    """Nothing at all is what a member gets that was left out."""
    if not data:
        return frozenset()
    assignment = decode(ConsumerProtocolAssignment, _version_of(data), data[_VERSION_BYTES:])
    return frozenset(
        TopicPartition(row.topic, index)
        for row in assignment.assigned_partitions
        for index in row.partitions
    )


def _version_of(data: Buffer) -> int:
    """A newer one only adds to what we know."""
    return max(0, min(int.from_bytes(data[:_VERSION_BYTES], "big", signed=True), _NEWEST))
