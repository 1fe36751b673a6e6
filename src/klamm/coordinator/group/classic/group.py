"""ClassicGroup: members, votes and generation of one group. Knows no alarms and answers nobody; rebalance.py does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.classic.member import NO_ASSIGNMENT, Member, Protocols
from klamm.coordinator.group.classic.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    MAY_FOLLOW,
    PREPARING_REBALANCE,
    STABLE,
    State,
)
from klamm.coordinator.group.kind import GroupKind
from klamm.coordinator.group.records import group_metadata, no_group
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.group import GroupMetadataValue, MemberMetadata
from klamm.protocol.compile import decoder
from klamm.protocol.messages.consumer_protocol import ConsumerProtocolSubscription

CONSUMER_PROTOCOL = "consumer"
_NOBODY: Mapping[str, Member] = MappingProxyType({})

# Looked through by identity: an enum's hash is slow.
_BEFORE_REBALANCE = [each for each in State if PREPARING_REBALANCE in MAY_FOLLOW[each]]


class ClassicGroup:
    __slots__ = (
        "generation",
        "group_id",
        "has_new_member",
        "initial_wait",
        "leader_id",
        "members",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol",
        "protocol_type",
        "state",
        "state_since",
        "static_ids",
        "subscribed_topics",
        "supporters",
        "waiting_joins",
    )

    kind = GroupKind.CLASSIC

    def __init__(self, group_id: str, *, state: State = EMPTY, since: Ms | None) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = DEAD
        # None in the records of old brokers.
        self.state_since = since
        self.protocol_type = ""
        self.protocol: str | None = None
        self.generation = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        # The member that goes by each instance id.
        self.static_ids: dict[str, str] = {}
        # Ids that were given out and have not come back yet.
        self.pending_joins: set[str] = set()
        # Who has not asked for its assignment yet, in this generation.
        self.pending_syncs: set[str] = set()
        self.waiting_joins = 0
        # How many members know each protocol.
        self.supporters: Counter[str] = Counter()
        # None: the members do not speak the consumer protocol, or one that we cannot read.
        self.subscribed_topics: frozenset[str] | None = None
        # While the first round forms: the wait that runs, and what may be added to it if members keep coming.
        self.initial_wait = (0, 0)
        self.has_new_member = False

    # Members.

    def add(self, member: Member, protocol_type: str) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_ids
            self.static_ids[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = protocol_type
        assert self.protocol_type == protocol_type
        self.leader_id = self.leader_id or member.member_id
        self.members[member.member_id] = member
        self._count(member.protocols, 1)
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member.protocols, -1)
            self.set_join_token(member, None)
            if member.group_instance_id is not None:
                del self.static_ids[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)

    def replace(self, old: Member, new: Member) -> None:
        """A static member came back under a new id. It keeps its place, and the lead if it had it."""
        assert new.group_instance_id is not None
        self.set_join_token(old, None)
        del self.members[old.member_id]
        self.members[new.member_id] = new
        if self.leader_id == old.member_id:
            self.leader_id = new.member_id
        self.static_ids[new.group_instance_id] = new.member_id
        # Deviation: Kafka goes on waiting for the old id to ask for its assignment, and makes a round when it does not.
        if old.member_id in self.pending_syncs:
            self.pending_syncs.remove(old.member_id)
            self.pending_syncs.add(new.member_id)

    def update(
        self, member: Member, protocols: Protocols, rebalance_ms: int, session_ms: int
    ) -> None:
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)
        member.rebalance_timeout_ms = rebalance_ms
        member.session_timeout_ms = session_ms

    def set_join_token(self, member: Member, token: Token | None) -> None:
        self.waiting_joins += (token is not None) - (member.join_token is not None)
        member.join_token = token

    def _count(self, protocols: Protocols, step: int) -> None:
        for name, _ in protocols:
            self.supporters[name] += step
            if not self.supporters[name]:
                del self.supporters[name]

    @property
    def have_all_joined(self) -> bool:
        return self.waiting_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest any member asks for: it needs that long to finish its work."""
        return max((0, *(m.rebalance_timeout_ms for m in self.members.values())))

    def check_member(self, member_id: str, group_instance_id: str | None) -> Member:
        if group_instance_id is not None:
            current = self.static_ids.get(group_instance_id)
            if current is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    # Rounds.

    def become(self, state: State, now: Ms) -> None:
        assert state in MAY_FOLLOW[self.state], f"{self.group_id}: {self.state} -> {state}"
        self.previous_state = self.state
        self.state = state
        self.state_since = now

    @property
    def can_rebalance(self) -> bool:
        return self.state in _BEFORE_REBALANCE

    def elect_leader(self) -> bool:
        """The leader stays if it has joined; else the first who has. False: nobody has."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.join_token is not None:
            return True
        joined = (m.member_id for m in self.members.values() if m.join_token is not None)
        elected = next(joined, None)
        self.leader_id = elected or self.leader_id
        return elected is not None

    def begin_generation(self, now: Ms) -> None:
        # As Java counts: after the largest int comes the smallest.
        self.generation = (self.generation + 1 + (1 << 31)) % (1 << 32) - (1 << 31)
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self._read_subscriptions()
        self.become(COMPLETING_REBALANCE if self.members else EMPTY, now)
        self.pending_syncs.clear()

    def select_protocol(self) -> str:
        """Each member votes for its favourite among those that all know; the most votes win, the earliest of equals."""
        candidates = {name for name, n in self.supporters.items() if n == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """A group without members takes any protocol; others ask for one that all members know."""
        if self.state is EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type != protocol_type:
            return False
        return len(self.members) in [self.supporters[name] for name, _ in protocols]

    def refresh_subscriptions(self) -> None:
        self.subscribed_topics = self._read_subscriptions()

    def _read_subscriptions(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        return read_topics(m.metadata(self.protocol) for m in self.members.values())

    # Records.

    def record(
        self, assignments: dict[str, bytes], instead: Mapping[str, Member] = _NOBODY
    ) -> CoordinatorRecord:
        """With `instead` as if these had the places of the members of these ids."""
        value = GroupMetadataValue(
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader_id,
            current_state_timestamp=-1 if self.state_since is None else self.state_since,
            members=[
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client.id,
                    client_host=member.client.host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol),
                    assignment=assignments.get(member.member_id, NO_ASSIGNMENT),
                )
                for member in (instead.get(each, old) for each, old in self.members.items())
            ],
        )
        return group_metadata(self.group_id, value)

    def assignments(self) -> dict[str, bytes]:
        return {member.member_id: member.assignment for member in self.members.values()}

    def tombstones(self) -> Sequence[CoordinatorRecord]:
        return (no_group(self.group_id),)

    # What every kind of group is asked.

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL

    def check_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        version: int,
    ) -> None:
        if generation_or_epoch < 0 and self.state is EMPTY:
            # A tool, or a consumer that assigns its partitions itself.
            return
        if generation_or_epoch >= 0 or member_id or group_instance_id is not None:
            self.check_member(member_id, group_instance_id)
            if generation_or_epoch != self.generation:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        elif not is_transactional and self.state is not EMPTY:
            # Transactional commits of old clients say nothing about the member, and are let through.
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        if not is_transactional and self.state is COMPLETING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Anybody may read what was committed."""

    def check_offset_delete(self) -> None:
        """Of a running group only the offsets of topics nobody reads can go: so we must know what is read."""
        if self.state is not EMPTY and not self.uses_consumer_protocol:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        if self.state is not EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def retention_start(self, committed_at: Ms) -> Ms | None:
        if not self.protocol_type:
            return committed_at
        if self.state is EMPTY:
            return committed_at if self.state_since is None else self.state_since
        knows_topics = self.uses_consumer_protocol and self.subscribed_topics is not None
        return committed_at if knows_topics and self.state is STABLE else None

    def check_invariants(self) -> None:
        """For tests."""
        members = self.members.values()
        assert self.waiting_joins == sum(m.join_token is not None for m in members)
        assert self.supporters == Counter(name for m in members for name, _ in m.protocols)
        assert self.static_ids == {
            m.group_instance_id: m.member_id for m in members if m.group_instance_id is not None
        }
        assert not members or len(members) in self.supporters.values()
        assert not self.pending_joins & self.members.keys()
        assert self.pending_syncs <= self.members.keys()
        assert (self.leader_id in self.members) if self.members else self.leader_id is None
        assert self.state is not EMPTY or not self.members
        assert self.state is not STABLE or self.members
        in_round = self.state is PREPARING_REBALANCE
        assert in_round or not self.waiting_joins
        is_formed = self.state is COMPLETING_REBALANCE
        assert is_formed or not any(m.sync_token is not None for m in members)


_SUBSCRIPTION = decoder(ConsumerProtocolSubscription, 0)


def read_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All versions of the consumer protocol begin like the first; None if one of these does not."""
    topics: set[str] = set()
    for metadata in subscriptions:
        if len(metadata) < 2 or metadata[0] > 0x7F:
            return None
        # Deviation: Kafka fails on a subscription that names more topics than it has bytes, and the round never closes.
        try:
            topics.update(_SUBSCRIPTION(memoryview(metadata), 2)[0].topics)
        except CorruptFrame:
            return None
    return frozenset(topics)
