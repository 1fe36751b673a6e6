"""Members of a consumer group that speak the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

A member's epoch is its generation. Where it is to take a step, its heartbeat is answered with REBALANCE_IN_PROGRESS; its
JoinGroup then does what a heartbeat of KIP-848 does, and its SyncGroup fetches the result. Nobody waits for others, and
there is no leader: the broker assigns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from klamm.base.clock import Now
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.token import Token
from klamm.coordinator.group import consumer_protocol
from klamm.coordinator.group.classic.answers import left
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.consumer.balancing import Step
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.groups import ConsumerGroups, known_static
from klamm.coordinator.group.consumer.member import (
    ClassicFacts,
    ClassicProtocol,
    Member,
    MemberState,
)
from klamm.coordinator.group.consumer.reconciliation import Claimed
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.group.migration import (
    CONSUMER_PROTOCOL,
    downgrade,
    may_downgrade,
    policy_of,
)
from klamm.coordinator.shard import Outcome
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from klamm.protocol.messages.leave_group import MemberIdentity, MemberResponse
from klamm.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

# From this version of JoinGroup on a new member must join a second time with the id it was given.
_MEMBER_ID_REQUIRED = 4


class ClassicMembers:
    def __init__(self, shard: GroupShard, groups: ConsumerGroups) -> None:
        self._shard = shard
        self._groups = groups

    # JoinGroup.

    def join(
        self,
        group: ConsumerGroup,
        request: JoinGroupRequest,
        client: Client,
        *,
        version: int,
        token: Token,
        now: Now,
    ) -> Outcome:
        policy = policy_of(self._shard.settings)
        if not (policy.may_upgrade or policy.may_downgrade):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_unknown = not request.member_id
        member_id = request.member_id or self._groups.new_member_id()
        self._groups.check_size(group, member_id)
        _check_protocols(group, request)
        if is_unknown and request.group_instance_id is None and version >= _MEMBER_ID_REQUIRED:
            answer = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            return Outcome(replies=((token, answer),))
        draft = Draft()
        subscription = _subscription(request)
        tried, before = self._member(group, request, member_id, draft)
        after = _updated(before, request, subscription, client)
        claimed = _claimed(subscription, self._shard.image)
        step = Step(tried, before, after, claimed, now, draft.records)
        self._groups.balancing.subscribe(step, waits_for_regex=False)
        if self._is_last_replaced(group, after):
            self._downgrade(group, step, draft)
        else:
            self._groups.balancing.balance(step)
            self._groups.accept(step, None, draft)
            self._began(step, request, now)
        draft.reply(token, _joined(step.after))
        return draft.outcome()

    def _member(
        self, group: ConsumerGroup, request: JoinGroupRequest, member_id: str, draft: Draft
    ) -> tuple[ConsumerGroup, Member]:
        if request.group_instance_id is None:
            return group, group.members.get(member_id, Member(member_id))
        return self._groups.static_member(
            group,
            member_id,
            request.group_instance_id,
            is_joining=not request.member_id,
            is_classic=True,
            written=draft.records,
        )

    def _began(self, step: Step, request: JoinGroupRequest, now: Now) -> None:
        group_id, member_id = step.group.group_id, step.after.member_id
        deadlines = self._shard.deadlines
        deadlines.cancel(("consumer", "join", group_id, member_id))
        deadlines.set(
            ("consumer", "sync", group_id, member_id),
            now.monotonic + step.after.rebalance_timeout_ms,
        )
        self._groups.keep_session(group_id, member_id, request.session_timeout_ms, now.monotonic)

    def _is_last_replaced(self, group: ConsumerGroup, after: Member) -> bool:
        """A static member comes back with the classic protocol, and was the last to speak the other one."""
        replaced = group.static_member(after.instance_id)
        if replaced is None or replaced.classic is not None:
            return False
        others = [each for each in group.members.values() if each is not replaced]
        return may_downgrade([*others, after], self._shard.settings)

    def _downgrade(self, group: ConsumerGroup, step: Step, draft: Draft) -> None:
        """Where the target is up to date the group goes on as it is; else the members must rejoin."""
        must_rebalance = group.target_epoch < step.epoch
        if not must_rebalance:
            target = step.group.target.get(step.after.member_id, {})
            self._groups.balancing.reconcile(step, target, group.target_epoch)
        tried = step.group.copy()
        for record in draft.records:
            tried.replay(record)
        left = list(tried.members.values())
        if not downgrade(tried, left, self._shard, draft, step.now, must_rebalance=must_rebalance):
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._groups.forget_all(group)

    # The others.

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, *, token: Token, now: Now
    ) -> Outcome:
        member, facts = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        told = (request.protocol_type, request.protocol_name)
        for each, ours in zip(told, (CONSUMER_PROTOCOL, facts.protocols[0].name), strict=True):
            if each is not None and each != ours:
                raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if (
            group.target_epoch > member.epoch
            and member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            self._call_to_join(group, member, now)
            answer = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
            return Outcome(replies=((token, answer),))
        self._shard.deadlines.cancel(("consumer", "sync", group.group_id, member.member_id))
        self._groups.keep_session(
            group.group_id, member.member_id, facts.session_timeout_ms, now.monotonic
        )
        version = consumer_protocol.version_of(facts.protocols[0].metadata)
        assignment = consumer_protocol.write_assignment(member.assigned, self._shard.image, version)
        answer = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment,
        )
        return Outcome(replies=((token, answer),))

    def heartbeat(
        self, group: ConsumerGroup, request: HeartbeatRequest, *, token: Token, now: Now
    ) -> Outcome:
        member, facts = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        self._groups.keep_session(
            group.group_id, member.member_id, facts.session_timeout_ms, now.monotonic
        )
        answer = HeartbeatResponse()
        if _must_join(group, member):
            self._call_to_join(group, member, now)
            answer = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return Outcome(replies=((token, answer),))

    def _call_to_join(self, group: ConsumerGroup, member: Member, now: Now) -> None:
        key = ("consumer", "join", group.group_id, member.member_id)
        if key not in self._shard.deadlines:
            self._shard.deadlines.set(key, now.monotonic + member.rebalance_timeout_ms)

    def leave(
        self,
        group: ConsumerGroup,
        leaving: Sequence[MemberIdentity],
        *,
        version: int,
        token: Token,
        now: Now,
    ) -> Outcome:
        """Members of both protocols can be made to leave in this way: a tool does."""
        members: dict[str, Member] = {}
        results = [_leave_one(group, each, members) for each in leaving]
        draft = Draft()
        self._groups.fence(group, list(members.values()), draft, now)
        draft.reply(token, left(results, version))
        return draft.outcome()


def _leave_one(
    group: ConsumerGroup, identity: MemberIdentity, leaving: dict[str, Member]
) -> MemberResponse:
    result = MemberResponse(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id
    )
    try:
        if not identity.member_id and identity.group_instance_id is not None:
            # A tool names a static member by its instance alone.
            member = group.static_member(identity.group_instance_id)
            if member is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        else:
            member = _member(group, identity.member_id, identity.group_instance_id)
    except ApiError as e:
        result.error_code = e.code
    else:
        leaving[member.member_id] = member
    return result


def _member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    if instance_id is None:
        return group.known_member(member_id)
    return known_static(group, member_id, instance_id)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicFacts]:
    member = _member(group, member_id, instance_id)
    if member.classic is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    return member, member.classic


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)


def _must_join(group: ConsumerGroup, member: Member) -> bool:
    if group.epoch > group.target_epoch and group.classic_count == len(group.members):
        # Deviation: in Kafka only a member that joins computes a new target, and until one does what the last new-style
        # member left behind has no owner.
        return True
    return (
        member.epoch < group.target_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member)
        )
    )


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """One that all classic members know must be among them."""
    facts = [each.classic for each in group.members.values() if each.classic is not None]
    common = {each.name for each in request.protocols}
    for member in facts:
        common &= {each.name for each in member.protocols}
    if request.protocol_type != CONSUMER_PROTOCOL or not common:
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return consumer_protocol.read_subscription(bytes(request.protocols[0].metadata))
    except CorruptFrame as e:
        # Deviation: Kafka answers UNKNOWN_SERVER_ERROR, which blames the broker.
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from e


def _claimed(subscription: ConsumerProtocolSubscription, image: ClusterImage) -> Claimed:
    claimed: dict[Uuid, set[int]] = {}
    for topic_id, partition in consumer_protocol.places(subscription.owned_partitions, image):
        claimed.setdefault(topic_id, set()).add(partition)
    return claimed


def _updated(
    member: Member,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    client: Client,
) -> Member:
    timeout = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=client.id,
        client_host=client.host,
        classic=ClassicFacts(
            request.session_timeout_ms,
            tuple(ClassicProtocol(each.name, bytes(each.metadata)) for each in request.protocols),
        ),
    )


def _joined(member: Member) -> JoinGroupResponse:
    assert member.classic is not None
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=member.classic.protocols[0].name,
    )
