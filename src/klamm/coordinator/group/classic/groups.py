"""ClassicGroups: all classic groups of a shard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.classic import answers
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.join_group import Join, Joining
from klamm.coordinator.group.classic.member import Client, Member
from klamm.coordinator.group.classic.rebalance import Rebalances
from klamm.coordinator.group.classic.seat import Seat
from klamm.coordinator.group.classic.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.group.kind import Group
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.group import GroupMetadataKey, GroupMetadataValue
from klamm.coordinator.shard import NOTHING, Outcome, Producer
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.protocol.messages.join_group import JoinGroupRequest
from klamm.protocol.messages.leave_group import MemberIdentity, MemberResponse
from klamm.protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

_ALIVE = HeartbeatResponse()
_REJOIN = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


class ClassicGroups:
    record_keys: tuple[type, ...] = (GroupMetadataKey,)

    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self.rebalances = Rebalances(shard.deadlines, shard.settings)
        self._joining = Joining(
            self.rebalances,
            shard.chance,
            shard.settings.group_max_size,
            lambda r: shard.check_fits(r),
        )

    def find(self, group_id: str) -> ClassicGroup | None:
        group = self._shard.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def _find_consumer(self, group_id: str) -> ConsumerGroup | None:
        """A group of KIP-848 may have members that speak the classic protocol."""
        group = self._shard.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def create_simple(self, group_id: str) -> ClassicGroup:
        """A group that only holds offsets. It may get members later."""
        return self._create(group_id, None)

    def _create(self, group_id: str, since: Ms | None) -> ClassicGroup:
        group = ClassicGroup(group_id, since=since)
        self._shard.groups[group_id] = group
        return group

    # Requests.

    def join(
        self, request: JoinGroupRequest, client: Client, *, version: int, token: Token, now: Now
    ) -> Outcome:
        other = self._find_consumer(request.group_id)
        if other is not None and not other.is_empty:
            return self._shard.classic_members.join(
                other, request, client, version=version, token=token, now=now
            )
        draft = Draft()
        group = self.find(request.group_id)
        if group is None:
            if request.member_id:
                error = ErrorCode.UNKNOWN_MEMBER_ID
                answer = answers.not_joined(error, request.member_id, version)
                return Outcome(replies=((token, answer),))
            if other is not None:
                # A consumer group without members makes way.
                draft.records.extend(other.tombstones())
            group = self._create(request.group_id, now.wall)
            # Written before it has members: the round that begins now exists in memory alone.
            draft.records.append(group.record({}))
        join = Join(group, request, client, version=version, token=token, now=now)
        self._joining.join(join, draft)
        return draft.outcome()

    def sync(self, request: SyncGroupRequest, *, token: Token, now: Now) -> Outcome:
        other = self._find_consumer(request.group_id)
        if other is not None:
            return self._shard.classic_members.sync(other, request, token=token, now=now)
        group = self.find(request.group_id)
        if group is None or group.state is EMPTY:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        _check_sync(group, request)
        assignments = None
        if member.member_id == group.leader_id and group.state is not STABLE:
            assignments = {a.member_id: bytes(a.assignment) for a in request.assignments}
            if not self._shard.room.fits([group.record(assignments)]):
                # Kafka's words for it. The others go on waiting for an assignment that can be written down.
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self.rebalances.synced(group, member)
        if group.state is STABLE:
            return Outcome(replies=((token, answers.synced(group, member.assignment)),))
        draft = Draft()
        if member.sync_token is not None:
            # Deviation: Kafka leaves a request that a newer one of the same member replaced without an answer.
            draft.reply(member.sync_token, answers.not_synced(ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_token = token
        if assignments is not None:
            self.rebalances.assign(group, assignments, draft, now)
        return draft.outcome()

    def heartbeat(self, request: HeartbeatRequest, *, token: Token, now: Now) -> Outcome:
        other = self._find_consumer(request.group_id)
        if other is not None:
            return self._shard.classic_members.heartbeat(other, request, token=token, now=now)
        group = self.find(request.group_id)
        if group is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        self.rebalances.keep_session(member, now.monotonic)
        is_forming = group.state is PREPARING_REBALANCE
        return Outcome(replies=((token, _REJOIN if is_forming else _ALIVE),))

    def seat(self, group_id: str, member_id: str, generation: int) -> Seat | None:
        """Where the heartbeats of this member in this generation are answered in short; None if it is no member."""
        group = self.find(group_id)
        member = group.members.get(member_id) if group is not None else None
        if group is None or member is None:
            return None
        return Seat(self._shard.groups, group, member, generation, self.rebalances)

    def leave(
        self,
        group_id: str,
        leaving: Sequence[MemberIdentity],
        *,
        version: int,
        token: Token,
        now: Now,
    ) -> Outcome:
        other = self._find_consumer(group_id)
        if other is not None:
            return self._shard.classic_members.leave(
                other, leaving, version=version, token=token, now=now
            )
        group = self.find(group_id)
        if group is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        draft = Draft()
        results = [self._leave_one(group, each, draft) for each in leaving]
        has_left = any(result.error_code == ErrorCode.NONE for result in results)
        if has_left and group.state is not EMPTY:
            self.rebalances.prepare_or_complete(group, draft, now)
        draft.reply(token, answers.left(results, version))
        return draft.outcome()

    def _leave_one(
        self, group: ClassicGroup, identity: MemberIdentity, draft: Draft
    ) -> MemberResponse:
        result = MemberResponse(
            member_id=identity.member_id, group_instance_id=identity.group_instance_id
        )
        member_id = identity.member_id
        if member_id in group.pending_joins:
            self.rebalances.forget_pending(group, member_id)
            return result
        if not member_id and identity.group_instance_id is not None:
            # A tool names a static member by its instance alone.
            member_id = group.static_ids.get(identity.group_instance_id, "")
        try:
            member = group.check_member(member_id, identity.group_instance_id)
        except ApiError as e:
            result.error_code = e.code
        else:
            self.rebalances.remove(group, member, draft)
        return result

    # Other parts of the shard.

    def renew_session(self, group: Group, member_id: str, now: Ms) -> None:
        """A commit of offsets is a sign of life, too."""
        if isinstance(group, ClassicGroup) and member_id in group.members:
            self.rebalances.keep_session(group.members[member_id], now)

    def dissolve(self, group: ClassicGroup, draft: Draft) -> None:
        """The group becomes one of another kind: who waits is told to join again."""
        error = ErrorCode.REBALANCE_IN_PROGRESS
        for member in group.members.values():
            if member.join_token is not None:
                answer = answers.not_joined(error, member.member_id, member.join_version)
                draft.reply(member.join_token, answer)
                group.set_join_token(member, None)
            if member.sync_token is not None:
                draft.reply(member.sync_token, answers.not_synced(error))
                member.sync_token = None
        self.rebalances.forget(group)

    # The log.

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        key, value = record.key, record.value
        assert isinstance(key, GroupMetadataKey)
        group = self.find(key.group)
        if value is None:
            self._remove(group)
            return
        assert isinstance(value, GroupMetadataValue)
        if group is not None and self._shard.is_loaded:
            _settle(group, value)
        else:
            self._shard.groups[key.group] = _restore(key.group, value)

    def _remove(self, group: ClassicGroup | None) -> None:
        """A tombstone of a group that has become one of another kind meanwhile does nothing."""
        if group is not None:
            self.rebalances.forget(group)
            group.state = DEAD
            del self._shard.groups[group.group_id]

    def loaded(self, now: Now) -> Outcome:
        draft = Draft()
        for group in self._shard.groups.values():
            if isinstance(group, ClassicGroup):
                self.begin(group, draft, now)
        return draft.outcome()

    def begin(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        """A group that comes from the log: its members have a whole session to be heard of."""
        for member in group.members.values():
            self.rebalances.keep_session(member, now.monotonic)
        if len(group.members) > self._shard.settings.group_max_size:
            # The limit was lowered. A round gives members the time to commit before some of them must go.
            self.rebalances.prepare(group, draft, now)

    def follow(self, before: ClusterImage, now: Now) -> Outcome:
        return NOTHING

    def wake(self, key: tuple[object, ...], now: Now) -> Outcome:
        _, alarm, group_id, *rest = key
        assert isinstance(group_id, str)
        group = self.find(group_id)
        if group is None:
            return NOTHING
        draft = Draft()
        if alarm == "session":
            (member_id,) = rest
            assert isinstance(member_id, str)
            self.rebalances.expire_session(group, member_id, draft, now)
        elif alarm == "join":
            self.rebalances.expire_join(group, draft, now)
        else:
            self.rebalances.expire_sync(group, draft, now)
        return draft.outcome()

    def check_invariants(self) -> None:
        for group in self._shard.groups.values():
            if isinstance(group, ClassicGroup):
                group.check_invariants()


def _check_sync(group: ClassicGroup, request: SyncGroupRequest) -> None:
    if request.generation_id != group.generation:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    for told, ours in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol),
    ):
        if told is not None and ours is not None and told != ours:
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is PREPARING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def _settle(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """A running group is ahead of its log: what it writes it knows. A record tells it that the assignment holds."""
    for each in value.members:
        group.members[each.member_id].assignment = bytes(each.assignment)
    if value.members and group.state is COMPLETING_REBALANCE:
        group.become(STABLE, value.current_state_timestamp)


def _restore(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    since = None if value.current_state_timestamp == -1 else value.current_state_timestamp
    group = ClassicGroup(group_id, state=STABLE if value.members else EMPTY, since=since)
    group.protocol_type = value.protocol_type
    group.protocol = value.protocol
    group.generation = value.generation
    group.leader_id = value.leader
    for each in value.members:
        # Of all that the member knows only the chosen protocol is written.
        protocols = ((value.protocol or "", bytes(each.subscription)),)
        has_timeout = each.rebalance_timeout != -1
        member = Member(
            group_id,
            each.member_id,
            group_instance_id=each.group_instance_id,
            client=Client(each.client_id, each.client_host),
            rebalance_timeout_ms=each.rebalance_timeout if has_timeout else each.session_timeout,
            session_timeout_ms=each.session_timeout,
            protocols=protocols,
            assignment=bytes(each.assignment),
        )
        group.add(member, value.protocol_type)
    group.refresh_subscriptions()
    return group
