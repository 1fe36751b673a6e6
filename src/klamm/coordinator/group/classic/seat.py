"""Seat: a member's place in a generation of its group, kept to answer its next heartbeat without looking it up again.

A heartbeat moves an alarm and writes nothing, and what it says of the generation was said when the member joined. So
it need not wait for what the shard has written and not yet committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from klamm.base.clock import Ms
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Member
from klamm.coordinator.group.classic.rebalance import Rebalances
from klamm.coordinator.group.classic.states import PREPARING_REBALANCE
from klamm.coordinator.group.kind import Group


class Seat:
    __slots__ = ("_generation", "_group", "_groups", "_member", "_rebalances")

    def __init__(
        self,
        groups: Mapping[str, Group],
        group: ClassicGroup,
        member: Member,
        generation: int,
        rebalances: Rebalances,
    ) -> None:
        self._groups = groups
        self._group = group
        self._member = member
        self._generation = generation
        self._rebalances = rebalances

    def keep(self, now: Ms) -> bool:
        """A heartbeat in short: False, and nothing done, where there is more to say than that all is well."""
        group = self._group
        member = self._member
        if (
            group.generation != self._generation
            or group.state is PREPARING_REBALANCE
            or group.members.get(member.member_id) is not member
            or self._groups.get(group.group_id) is not group
        ):
            return False
        self._rebalances.keep_session(member, now)
        return True
