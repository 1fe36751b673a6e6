"""The rebalance of a classic group: how a round begins, fills, ends and fails. All alarms of classic groups are set here.

("classic", "session", group, member)   the member was not heard of; also for an id that was given out and not used
("classic", "join", group)              the round closes with those who have joined
("classic", "sync", group)              who has not asked for its assignment by now is out
"""

from __future__ import annotations

from collections.abc import Hashable

from klamm.base.clock import Ms, Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ErrorCode
from klamm.base.settings.group import GroupSettings
from klamm.coordinator.group.classic import answers
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import NO_ASSIGNMENT, Member, session_key
from klamm.coordinator.group.classic.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from klamm.coordinator.group.draft import Draft

# A new member may not know its id yet, and its connection is not read while it waits: a retry makes another member.
# So that such ghosts do not keep a round open for ever, the first JoinGroup is given up after this time.
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000


class Rebalances:
    __slots__ = ("_deadlines", "_settings")

    def __init__(self, deadlines: Deadlines[Hashable], settings: GroupSettings) -> None:
        self._deadlines = deadlines
        self._settings = settings

    # Beginning.

    def prepare_or_complete(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        """Something changed: begin a round, or see whether the one that forms is full now."""
        if group.can_rebalance:
            self.prepare(group, draft, now)
        else:
            self.complete_if_full(group, draft, now)

    def prepare(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        if group.state is COMPLETING_REBALANCE:
            self._call_off_syncs(group, draft, now)
        group.pending_syncs.clear()
        self._deadlines.cancel(("classic", "sync", group.group_id))
        if group.state is EMPTY:
            delay = self._settings.group_initial_rebalance_delay_ms
            group.initial_wait = (delay, max(group.rebalance_timeout_ms - delay, 0))
            self._deadlines.set(("classic", "join", group.group_id), now.monotonic + delay)
            group.become(PREPARING_REBALANCE, now.wall)
            return
        group.become(PREPARING_REBALANCE, now.wall)
        if group.have_all_joined:
            self.complete(group, draft, now)
        else:
            self._close_later(group, now)

    def _call_off_syncs(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        for member in group.members.values():
            member.assignment = NO_ASSIGNMENT
            if member.sync_token is not None:
                draft.reply(member.sync_token, answers.not_synced(ErrorCode.REBALANCE_IN_PROGRESS))
                member.sync_token = None
                self.keep_session(member, now.monotonic)

    def _close_later(self, group: ClassicGroup, now: Now) -> None:
        self._deadlines.set(
            ("classic", "join", group.group_id), now.monotonic + group.rebalance_timeout_ms
        )

    # Ending.

    def complete_if_full(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        """The first round of a group is never full: others may be about to start, and its alarm closes it."""
        is_first = group.previous_state is EMPTY
        if group.state is PREPARING_REBALANCE and not is_first and group.have_all_joined:
            self.complete(group, draft, now)

    def extend_or_complete(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        """The first round waits again while members keep coming, up to the rebalance timeout in all."""
        delay, remaining = group.initial_wait
        if not (group.has_new_member and remaining):
            self.complete(group, draft, now)
            return
        group.has_new_member = False
        next_delay = min(self._settings.group_initial_rebalance_delay_ms, remaining)
        group.initial_wait = (next_delay, max(remaining - delay, 0))
        self._deadlines.set(("classic", "join", group.group_id), now.monotonic + next_delay)

    def complete(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        self._deadlines.cancel(("classic", "join", group.group_id))
        for member in list(group.members.values()):
            # A static member may be away for as long as its session lasts, and keeps its place.
            if member.join_token is None and member.group_instance_id is None:
                self.remove(group, member, draft)
        if not group.elect_leader() and group.members:
            # Nobody came. Sessions will end and take the members with them, or somebody comes yet.
            self._close_later(group, now)
            return
        group.begin_generation(now.wall)
        if group.state is EMPTY:
            draft.records.append(group.record({}))
            return
        for member in group.members.values():
            if member.join_token is not None:
                draft.reply(member.join_token, answers.joined(group, member))
                group.set_join_token(member, None)
            self.keep_session(member, now.monotonic)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
        self._deadlines.set(
            ("classic", "sync", group.group_id), now.monotonic + group.rebalance_timeout_ms
        )

    def synced(self, group: ClassicGroup, member: Member) -> None:
        """The member has asked for its assignment."""
        group.pending_syncs.discard(member.member_id)
        if not group.pending_syncs:
            self._deadlines.cancel(("classic", "sync", group.group_id))

    def assign(
        self, group: ClassicGroup, assignments: dict[str, bytes], draft: Draft, now: Now
    ) -> None:
        """The leader has spoken. The group is stable when this is written."""
        draft.records.append(group.record(assignments))
        for member in group.members.values():
            if member.sync_token is not None:
                assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
                draft.reply(member.sync_token, answers.synced(group, assignment))
                member.sync_token = None
                # Its session may have ended while it waited, which does not count, but no alarm was set since.
                self.keep_session(member, now.monotonic)

    # Members come and go.

    def keep_session(self, member: Member, now: Ms) -> None:
        self._deadlines.set(member.session_key, now + member.session_timeout_ms)

    def welcome(self, member: Member, now: Ms) -> None:
        self._deadlines.set(member.session_key, now + NEW_MEMBER_JOIN_TIMEOUT_MS)

    def await_return(self, group: ClassicGroup, member_id: str, session_ms: int, now: Ms) -> None:
        """An id was given out; its client is to join with it within its session."""
        group.pending_joins.add(member_id)
        self._deadlines.set(session_key(group.group_id, member_id), now + session_ms)

    def remove(self, group: ClassicGroup, member: Member, draft: Draft) -> None:
        """What it waits for is answered, so that a client that is still there can join anew."""
        error = ErrorCode.UNKNOWN_MEMBER_ID
        if member.join_token is not None:
            answer = answers.not_joined(error, answers.UNKNOWN_MEMBER, member.join_version)
            draft.reply(member.join_token, answer)
        if member.sync_token is not None:
            # Deviation: Kafka leaves the SyncGroup of a removed member without an answer.
            draft.reply(member.sync_token, answers.not_synced(error))
        self.forget_session(member.session_key)
        group.remove(member.member_id)

    def forget_pending(self, group: ClassicGroup, member_id: str) -> None:
        group.remove(member_id)
        self.forget_session(session_key(group.group_id, member_id))

    def forget_session(self, key: tuple[str, str, str, str]) -> None:
        self._deadlines.cancel(key)

    def forget(self, group: ClassicGroup) -> None:
        """The group goes: none of its alarms may ring."""
        for kind in ("join", "sync"):
            self._deadlines.cancel(("classic", kind, group.group_id))
        for member_id in (*group.members, *group.pending_joins):
            self._deadlines.cancel(session_key(group.group_id, member_id))

    # Alarms.

    def expire_session(self, group: ClassicGroup, member_id: str, draft: Draft, now: Now) -> None:
        member = group.members.get(member_id)
        if member is not None:
            if member.is_waiting:
                return
            self.remove(group, member, draft)
        elif member_id in group.pending_joins:
            group.remove(member_id)
        if member is not None and group.state in (STABLE, COMPLETING_REBALANCE):
            self.prepare(group, draft, now)
        elif group.state is PREPARING_REBALANCE and group.have_all_joined:
            self.complete(group, draft, now)

    def expire_join(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        if group.previous_state is EMPTY:
            self.extend_or_complete(group, draft, now)
        else:
            self.complete(group, draft, now)

    def expire_sync(self, group: ClassicGroup, draft: Draft, now: Now) -> None:
        late = [group.members[member_id] for member_id in sorted(group.pending_syncs)]
        for member in late:
            self.remove(group, member, draft)
        if late:
            self.prepare(group, draft, now)
