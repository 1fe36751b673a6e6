"""What a consumer needs of its membership in a group, whichever protocol the group speaks.

Rebalances happen inside `poll`: partitions are taken away only when the user has come back for more, so what was given
out has been worked on. Only heartbeats go on in between.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.consumer.state import Assignment
from klamm.client.offsets import GroupMetadata

Partitions = Collection[TopicPartition]


class RebalanceListener:
    """Told of what a rebalance changes. Override what matters; all of it runs inside `poll`."""

    async def on_assigned(self, partitions: Partitions) -> None:
        """These are ours from now on; positions can be set by `seek`."""

    async def on_revoked(self, partitions: Partitions) -> None:
        """These will be somebody else's: the last moment to commit them."""

    async def on_lost(self, partitions: Partitions) -> None:
        """These may be somebody else's already: too late to commit."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Topics by name or by a pattern."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def matching(self, names: Collection[str]) -> frozenset[str]:
        if self.pattern is None:
            return self.topics
        return frozenset(name for name in names if self.pattern.fullmatch(name))


class Membership(Protocol):
    @property
    def metadata(self) -> GroupMetadata: ...

    async def step(self) -> None:
        """Called by every poll: do what a rebalance asks of this member now."""
        ...

    def commit_refused(self, code: ErrorCode) -> None:
        """A commit of this member, as it is now, was not taken."""
        ...

    async def leave(self) -> None: ...


@dataclass(slots=True)
class Changes:
    """Carries out what a rebalance says, in the order that its listener may rely on."""

    assignment: Assignment
    listener: RebalanceListener
    commit: Callable[[], Awaitable[None]]

    async def revoke(self, partitions: Partitions) -> None:
        if partitions:
            self.assignment.mark_being_revoked(partitions)
            await self.commit()
            await self.listener.on_revoked(sorted(partitions))
            self.assignment.remove(partitions)

    async def lose(self) -> None:
        partitions = sorted(self.assignment)
        if partitions:
            self.assignment.remove(partitions)
            await self.listener.on_lost(partitions)

    async def give(self, partitions: Partitions) -> None:
        self.assignment.add(partitions)
        await self.listener.on_assigned(sorted(partitions))
