"""JoinGroup: a member enters the round that forms, or makes one form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from klamm.base.chance import Chance
from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.classic import answers
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Client, Member, Protocols
from klamm.coordinator.group.classic.rebalance import Rebalances
from klamm.coordinator.group.classic.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.group.member_ids import new_member_id
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

# From these versions on: a new member must come again with the id that it was given; a leader can be told to leave the
# assignment as it is (KIP-814).
_MEMBER_ID_REQUIRED = 4
_CAN_SKIP_ASSIGNMENT = 9


class Join:
    """One JoinGroup on its way through."""

    __slots__ = (
        "client",
        "group",
        "now",
        "protocols",
        "rebalance_timeout_ms",
        "request",
        "token",
        "version",
    )

    def __init__(
        self,
        group: ClassicGroup,
        request: JoinGroupRequest,
        client: Client,
        *,
        version: int,
        token: Token,
        now: Now,
    ) -> None:
        self.group = group
        self.request = request
        self.client = client
        self.version = version
        self.token = token
        self.now = now
        self.protocols = _read_protocols(request.protocols)
        # The first version knows one timeout for both.
        self.rebalance_timeout_ms = (
            request.rebalance_timeout_ms if version else request.session_timeout_ms
        )

    def refuse(self, error: ErrorCode, member_id: str, draft: Draft) -> None:
        draft.reply(self.token, answers.not_joined(error, member_id, self.version))


class Joining:
    __slots__ = ("_chance", "_check_fits", "_max_size", "_rebalances")

    def __init__(
        self,
        rebalances: Rebalances,
        chance: Chance,
        max_size: int,
        check_fits: Callable[[Sequence[CoordinatorRecord]], None],
    ) -> None:
        self._rebalances = rebalances
        self._chance = chance
        self._max_size = max_size
        self._check_fits = check_fits

    def join(self, join: Join, draft: Draft) -> None:
        request, group = join.request, join.group
        is_new = not request.member_id
        if not self._has_room(group, request.member_id):
            self._refuse(join, draft)
        elif not group.supports(request.protocol_type, join.protocols):
            join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id, draft)
        elif is_new and request.group_instance_id is not None:
            self._join_static(join, draft)
        elif is_new:
            self._join_dynamic(join, draft)
        else:
            self._join_again(join, draft)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """While a round forms those count who have joined it: if the limit was lowered, the last to come are out."""
        if group.state is EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            is_in = member is not None and member.join_token is not None
            return is_in or group.waiting_joins < self._max_size
        return member is not None or len(group.members) < self._max_size

    def _refuse(self, join: Join, draft: Draft) -> None:
        group, member_id = join.group, join.request.member_id
        member = group.members.get(member_id)
        if member is not None:
            self._rebalances.remove(group, member, draft)
        group.remove(member_id)
        join.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, answers.UNKNOWN_MEMBER, draft)

    # New members.

    def _join_dynamic(self, join: Join, draft: Draft) -> None:
        member_id = new_member_id(join.client.id, self._chance)
        if join.version < _MEMBER_ID_REQUIRED:
            self._add(join, member_id, draft)
            return
        session_ms = join.request.session_timeout_ms
        self._rebalances.await_return(join.group, member_id, session_ms, join.now.monotonic)
        join.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id, draft)

    def _join_static(self, join: Join, draft: Draft) -> None:
        instance_id = join.request.group_instance_id
        assert instance_id is not None
        member_id = new_member_id(instance_id, self._chance)
        old_id = join.group.static_ids.get(instance_id)
        if old_id is None:
            self._add(join, member_id, draft)
        else:
            self._take_over(join, join.group.members[old_id], member_id, draft)

    def _add(self, join: Join, member_id: str, draft: Draft) -> None:
        group = join.group
        member = Member(
            group.group_id,
            member_id,
            group_instance_id=join.request.group_instance_id,
            client=join.client,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            session_timeout_ms=join.request.session_timeout_ms,
            protocols=join.protocols,
        )
        member.is_new = True
        is_first_round = group.previous_state is EMPTY
        if group.state is PREPARING_REBALANCE and is_first_round:
            group.has_new_member = True
        group.add(member, join.request.protocol_type)
        self._park(join, member, draft)
        self._rebalances.welcome(member, join.now.monotonic)
        self._rebalances.prepare_or_complete(group, draft, join.now)

    # Static members that come back without their id.

    def _take_over(self, join: Join, old: Member, member_id: str, draft: Draft) -> None:
        """The new process gets the place of the old one, which is fenced from now on."""
        group = join.group
        old_leader = group.leader_id
        if group.state is STABLE and group.protocol in dict(join.protocols):
            coming = _successor(group, old, member_id, join.protocols)
            assignments = {**group.assignments(), member_id: old.assignment}
            self._check_fits([group.record(assignments, {old.member_id: coming})])
        self._fence(old, draft)
        member = _successor(group, old, member_id, old.protocols)
        group.replace(old, member)
        self._rebalances.keep_session(member, join.now.monotonic)
        self._update(join, member)
        if group.state is STABLE and group.select_protocol() == group.protocol:
            draft.records.append(group.record(group.assignments()))
            draft.reply(join.token, _taken_over(group, member, old_leader, join.version))
            return
        self._park(join, member, draft)
        # Once formed, a round is void: the leader may have assigned partitions to the old id.
        self._rebalances.prepare_or_complete(group, draft, join.now)

    def _fence(self, old: Member, draft: Draft) -> None:
        error = ErrorCode.FENCED_INSTANCE_ID
        if old.join_token is not None:
            answer = answers.not_joined(error, old.member_id, old.join_version)
            draft.reply(old.join_token, answer)
        if old.sync_token is not None:
            draft.reply(old.sync_token, answers.not_synced(error))
        self._rebalances.forget_session(old.session_key)

    # Members that join again.

    def _join_again(self, join: Join, draft: Draft) -> None:
        group, request = join.group, join.request
        if request.member_id in group.pending_joins:
            if request.group_instance_id is not None:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._add(join, request.member_id, draft)
            return
        try:
            member = group.check_member(request.member_id, request.group_instance_id)
        except ApiError as e:
            join.refuse(e.code, request.member_id, draft)
            return
        if self._is_up_to_date(join, member):
            # Its answer was lost, or it asks for its assignment again.
            draft.reply(join.token, answers.joined(group, member))
            return
        self._update(join, member)
        self._park(join, member, draft)
        self._rebalances.prepare_or_complete(group, draft, join.now)

    def _is_up_to_date(self, join: Join, member: Member) -> bool:
        """A leader that joins a stable group wants a round: only it knows whether what is to be shared has changed."""
        if join.group.state is PREPARING_REBALANCE or member.protocols != join.protocols:
            return False
        is_leader = member.member_id == join.group.leader_id
        return join.group.state is COMPLETING_REBALANCE or not is_leader

    def _update(self, join: Join, member: Member) -> None:
        session_ms = join.request.session_timeout_ms
        join.group.update(member, join.protocols, join.rebalance_timeout_ms, session_ms)

    def _park(self, join: Join, member: Member, draft: Draft) -> None:
        if member.join_token is not None:
            # Deviation: Kafka leaves a request that a newer one of the same member replaced without an answer.
            error = ErrorCode.REBALANCE_IN_PROGRESS
            answer = answers.not_joined(error, member.member_id, member.join_version)
            draft.reply(member.join_token, answer)
        join.group.set_join_token(member, join.token)
        member.join_version = join.version


def _read_protocols(told: Sequence[JoinGroupRequestProtocol]) -> Protocols:
    """A name that comes twice counts once, with what is said first."""
    if len(told) == 1:
        (only,) = told
        return ((only.name, bytes(only.metadata)),)
    protocols: dict[str, bytes] = {}
    for each in told:
        protocols.setdefault(each.name, bytes(each.metadata))
    return tuple(protocols.items())


def _successor(group: ClassicGroup, old: Member, member_id: str, protocols: Protocols) -> Member:
    return Member(
        group.group_id,
        member_id,
        group_instance_id=old.group_instance_id,
        client=old.client,
        rebalance_timeout_ms=old.rebalance_timeout_ms,
        session_timeout_ms=old.session_timeout_ms,
        protocols=protocols,
        assignment=old.assignment,
    )


def _taken_over(
    group: ClassicGroup, member: Member, old_leader: str | None, version: int
) -> object:
    """A stable group goes on without a round: the newcomer asks for its predecessor's assignment next."""
    answer = answers.joined(group, member)
    if version >= _CAN_SKIP_ASSIGNMENT:
        answer.skip_assignment = member.member_id == group.leader_id
    else:
        # The old id: an old client that finds itself the leader would make an assignment.
        answer.leader = old_leader or ""
        answer.members = []
    return answer
