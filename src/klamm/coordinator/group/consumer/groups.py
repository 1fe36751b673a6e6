"""ConsumerGroups: all groups of KIP-848 of a shard. Heartbeats come in, members are let in, balanced and fenced.

Alarms, all ("consumer", name, group, member); the last ("consumer", "regex", group):
    session     the member was not heard of
    rebalance   the member has not given up in time what it must
    join, sync  a member that speaks the classic protocol has not come for its new part (classic_members.py)
    regex       the group's patterns are to be looked up: at once, but not within the heartbeat that asks for it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.token import Token
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.consumer import records
from klamm.coordinator.group.consumer.balancing import Balancing, Step
from klamm.coordinator.group.consumer.configs import GroupConfigs
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    LEAVING_STATIC_EPOCH,
    Member,
    MemberState,
)
from klamm.coordinator.group.consumer.messages import (
    check_heartbeat,
    claimed_in,
    described,
    heartbeat_answer,
    updated,
)
from klamm.coordinator.group.consumer.reconciliation import Claimed, is_covered
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.group.migration import downgrade, may_downgrade, upgrade
from klamm.coordinator.records import consumer_group as kinds
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.shard import NOTHING, Outcome, Producer
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

_MEMBER_ALARMS = ("session", "rebalance", "join", "sync")


class ConsumerGroups:
    record_keys: tuple[type, ...] = records.KEYS

    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self.balancing = Balancing(shard)
        # Of groups whose patterns are about to be looked up: which topics the member may know of that wants it.
        self._seers: dict[str, Callable[[str], bool]] = {}

    def find(self, group_id: str) -> ConsumerGroup | None:
        group = self._shard.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    # Heartbeats.

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: Client,
        *,
        version: int,
        token: Token,
        now: Now,
    ) -> Outcome:
        assignors = self._shard.settings.group_consumer_assignors
        check_heartbeat(request, version=version, assignors=assignors)
        if request.member_epoch in (LEAVING_EPOCH, LEAVING_STATIC_EPOCH):
            return self._leave(request, token, now)
        return self._beat(request, client, token, now)

    def _beat(
        self, request: ConsumerGroupHeartbeatRequest, client: Client, token: Token, now: Now
    ) -> Outcome:
        is_joining = request.member_epoch == JOINING_EPOCH
        draft = Draft()
        group, dissolved = self._enter(request.group_id, is_joining, draft)
        self.check_size(group, request.member_id)
        member_id = request.member_id or self.new_member_id()
        claimed = claimed_in(request)
        if request.instance_id is None:
            before = _dynamic_member(group, member_id, is_joining)
        else:
            group, before = self.static_member(
                group, member_id, request.instance_id, is_joining=is_joining, written=draft.records
            )
        if not is_joining:
            _check_epoch(before, request.member_epoch, claimed)
        after = updated(before, request, client)
        step = Step(group, before, after, claimed, now, draft.records)
        self.balancing.subscribe(step, waits_for_regex=True)
        self.balancing.balance(step)
        configs = self._configs(group.group_id)
        if member_id in group.members:
            # It lives, whether or not its next step can be written down.
            self.keep_session(group.group_id, member_id, configs.session_timeout_ms, now.monotonic)
        if draft.records:
            self._shard.check_open()
        self.accept(step, dissolved, draft)
        if step.must_resolve and client.may_see is not None:
            self._seers[group.group_id] = client.may_see
        self.keep_session(group.group_id, member_id, configs.session_timeout_ms, now.monotonic)
        draft.reply(token, heartbeat_answer(request, step, configs.heartbeat_interval_ms))
        return draft.outcome()

    def _enter(
        self, group_id: str, is_joining: bool, draft: Draft
    ) -> tuple[ConsumerGroup, ClassicGroup | None]:
        """The group; and the classic one that it replaces, if it does."""
        group = self._shard.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group, None
        if not is_joining:
            raise _not_found(group_id)
        fresh = ConsumerGroup(group_id)
        if group is None:
            return fresh, None
        assert isinstance(group, ClassicGroup)
        draft.records.extend(group.tombstones())
        if not group.is_empty:
            converted = upgrade(group, self._shard, self.balancing)
            draft.records.extend(converted)
            for record in converted:
                fresh.replay(record)
        return fresh, group

    def accept(self, step: Step, dissolved: ClassicGroup | None, draft: Draft) -> None:
        """Nothing was refused: from here on what is not written down may change as well, if there is room for the records."""
        self._shard.check_fits(draft.records)
        group_id, now = step.group.group_id, step.now.monotonic
        self.balancing.accept(step)
        if dissolved is not None:
            self._shard.classic.dissolve(dissolved, draft)
            for member in step.group.members.values():
                if member.classic is not None:
                    timeout = member.classic.session_timeout_ms
                    self.keep_session(group_id, member.member_id, timeout, now)
        if step.must_resolve:
            self._shard.deadlines.set(("consumer", "regex", group_id), now)
        if step.has_moved and step.after.classic is None:
            self._watch_revocation(group_id, step.after, now)
        known = self.find(group_id)
        replaced = known.static_member(step.after.instance_id) if known is not None else None
        if replaced is not None and replaced.member_id != step.after.member_id:
            self.forget(group_id, replaced.member_id)

    def _watch_revocation(self, group_id: str, member: Member, now: Ms) -> None:
        key = ("consumer", "rebalance", group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._shard.deadlines.set(key, now + member.rebalance_timeout_ms)
        else:
            self._shard.deadlines.cancel(key)

    def check_size(self, group: ConsumerGroup, member_id: str) -> None:
        most = self._shard.settings.group_consumer_max_size
        if len(group.members) >= most and member_id not in group.members:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {most} members.",
            )

    def static_member(
        self,
        group: ConsumerGroup,
        member_id: str,
        instance_id: str,
        *,
        is_joining: bool,
        is_classic: bool = False,
        written: list[CoordinatorRecord],
    ) -> tuple[ConsumerGroup, Member]:
        """The member of an instance id. One that comes in its place gets all it had, in a copy of the group."""
        if not is_joining:
            return group, known_static(group, member_id, instance_id)
        current = group.static_member(instance_id)
        if current is None:
            return group, group.members.get(member_id, Member(member_id))
        speaks_classic = is_classic or current.classic is not None
        if not speaks_classic and current.epoch != LEAVING_STATIC_EPOCH:
            raise ApiError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group "
                f"because the instance id is owned by {current.member_id} member.",
            )
        fresh = replace(current, member_id=member_id, epoch=0, previous_epoch=0)
        target = group.target.get(current.member_id, {})
        taken = [
            *records.no_member(group.group_id, current.member_id),
            records.subscription(group.group_id, fresh),
            records.target(group.group_id, member_id, target),
            records.current(group.group_id, fresh),
        ]
        written.extend(taken)
        tried = group.copy()
        for record in taken:
            tried.replay(record)
        return tried, fresh

    def describe(self, group_id: str, *, token: Token) -> Outcome:
        group = self._shard.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
            )
        default = self._shard.settings.group_consumer_assignors[0]
        return Outcome(replies=((token, described(group, default, self._shard.image)),))

    # Leaving.

    def _leave(self, request: ConsumerGroupHeartbeatRequest, token: Token, now: Now) -> Outcome:
        group = self.find(request.group_id)
        if group is None:
            raise _not_found(request.group_id)
        self._shard.check_open()
        draft = Draft()
        if request.instance_id is None:
            member = group.known_member(request.member_id)
        else:
            member = known_static(group, request.member_id, request.instance_id)
        if request.instance_id is not None and request.member_epoch == LEAVING_STATIC_EPOCH:
            away = replace(
                member,
                epoch=LEAVING_STATIC_EPOCH,
                assigned=_without_epochs(member),
                pending_revocation={},
            )
            draft.records.append(records.current(group.group_id, away))
        else:
            self.fence(group, [member], draft, now)
        answer = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        draft.reply(token, answer)
        return draft.outcome()

    def fence(self, group: ConsumerGroup, members: list[Member], draft: Draft, now: Now) -> None:
        """Members leave or are thrown out; what they owned is free. The last may leave a classic group behind."""
        if not members:
            return
        group_id = group.group_id
        for member in members:
            self.forget(group_id, member.member_id)
        gone = {member.member_id for member in members}
        left = [each for each in group.members.values() if each.member_id not in gone]
        if may_downgrade(left, self._shard.settings) and downgrade(
            group, left, self._shard, draft, now, must_rebalance=True
        ):
            self.forget_all(group)
            return
        for member in members:
            draft.records.extend(records.no_member(group_id, member.member_id))
        kept = {each.topic_regex for each in left}
        for pattern in sorted({each.topic_regex or "" for each in members} - kept - {""}):
            draft.records.append(records.no_regex(group_id, pattern))
        metadata_hash = self.balancing.hash_without(group, members)
        draft.records.append(records.group_epoch(group_id, group.epoch + 1, metadata_hash))

    # Alarms.

    def keep_session(self, group_id: str, member_id: str, timeout_ms: int, now: Ms) -> None:
        self._shard.deadlines.set(("consumer", "session", group_id, member_id), now + timeout_ms)

    def forget(self, group_id: str, member_id: str) -> None:
        for alarm in _MEMBER_ALARMS:
            self._shard.deadlines.cancel(("consumer", alarm, group_id, member_id))

    def forget_all(self, group: ConsumerGroup) -> None:
        self._shard.deadlines.cancel(("consumer", "regex", group.group_id))
        self._seers.pop(group.group_id, None)
        for member_id in group.members:
            self.forget(group.group_id, member_id)

    def wake(self, key: tuple[object, ...], now: Now) -> Outcome:
        _, alarm, group_id, *rest = key
        group = self.find(str(group_id))
        if group is None:
            return NOTHING
        if alarm == "regex":
            may_see = self._seers.pop(group.group_id, None)
            resolved = self.balancing.resolve(group, now.wall, may_see)
            # A pattern for more topics than can be written down matches none.
            return Outcome(resolved) if self._shard.room.fits(resolved) else NOTHING
        (member_id,) = rest
        member = group.members.get(str(member_id))
        if member is None:
            return NOTHING
        if alarm == "rebalance" and member.state is not MemberState.UNREVOKED_PARTITIONS:
            return NOTHING
        draft = Draft()
        self.fence(group, [member], draft, now)
        return draft.outcome()

    # The log and the cluster.

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        assert isinstance(record.key, records.Key)
        group_id = record.key.group_id
        group = self.find(group_id)
        if group is None:
            if record.value is None:
                # Of a group that is gone, or has become one of another kind.
                return
            group = ConsumerGroup(group_id)
            self._shard.groups[group_id] = group
        if record.value is None and isinstance(record.key, kinds.ConsumerGroupMetadataKey):
            del self._shard.groups[group_id]
            return
        group.replay(record)

    def loaded(self, now: Now) -> Outcome:
        """Every member has a whole session to be heard of, and a whole rebalance timeout to give up what it must."""
        for group in self._groups():
            timeout = self._configs(group.group_id).session_timeout_ms
            for member in group.members.values():
                self.keep_session(group.group_id, member.member_id, timeout, now.monotonic)
                self._watch_revocation(group.group_id, member, now.monotonic)
        return NOTHING

    def follow(self, before: ClusterImage, now: Now) -> Outcome:
        """Groups see by themselves, at their next heartbeat, that their topics changed."""
        if before.topics_by_name is not self._shard.image.topics_by_name:
            self.balancing.follow()
        return NOTHING

    def check_invariants(self) -> None:
        for group in self._groups():
            group.check_invariants()

    def _groups(self) -> Iterable[ConsumerGroup]:
        return [each for each in self._shard.groups.values() if isinstance(each, ConsumerGroup)]

    def _configs(self, group_id: str) -> GroupConfigs:
        return GroupConfigs(group_id, self._shard.image, self._shard.settings)

    def new_member_id(self) -> str:
        raw = bytearray(self._shard.chance.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        return str(Uuid(bytes(raw)))


def known_static(group: ConsumerGroup, member_id: str, instance_id: str) -> Member:
    """The member that goes by an instance id, if it goes by the member id as well."""
    member = group.static_member(instance_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} "
            f"was fenced by member {member.member_id}.",
        )
    return member


def _dynamic_member(group: ConsumerGroup, member_id: str, is_joining: bool) -> Member:
    if is_joining:
        return group.members.get(member_id, Member(member_id))
    return group.known_member(member_id)


def _check_epoch(member: Member, epoch: int, claimed: Claimed) -> None:
    """The epoch before the last is let pass: the answer that told of the last may have been lost."""
    if epoch > member.epoch:
        word = "greater"
    elif epoch < member.epoch and not (
        epoch == member.previous_epoch and is_covered(claimed, member.assigned)
    ):
        word = "smaller"
    else:
        return
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the "
        f"group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _without_epochs(member: Member) -> dict[Uuid, dict[int, int]]:
    """Who comes back may commit for its partitions whatever its epoch will be."""
    return {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()}


def _not_found(group_id: str) -> ApiError:
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
