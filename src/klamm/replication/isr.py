"""The in-sync replicas of a partition, as its leader knows them: what is committed, and what it has proposed.

Only the controller changes an ISR. Between the leader's proposal and the answer the leader must not acknowledge anything that
either set would not have: so the high watermark waits for the larger of the two, the "maximal" ISR.
"""

from __future__ import annotations

from typing import NamedTuple


class BrokerInIsr(NamedTuple):
    broker_id: int
    # As its fetches said (KIP-903); -1 if it has not fetched since we lead: then the controller does not compare it.
    broker_epoch: int


class IsrProposal:
    """Sent to the controller. Compared by identity: an answer to a proposal that is no longer pending is old news."""

    __slots__ = ("leader_epoch", "members", "partition_epoch")

    def __init__(
        self, members: tuple[BrokerInIsr, ...], *, leader_epoch: int, partition_epoch: int
    ) -> None:
        self.members = members
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch

    @property
    def isr(self) -> tuple[int, ...]:
        return tuple(member.broker_id for member in self.members)


class Isr:
    __slots__ = ("committed", "maximal", "pending")

    def __init__(self, committed: tuple[int, ...]) -> None:
        self.committed = committed
        self.pending: IsrProposal | None = None
        self.maximal = frozenset(committed)

    def propose(self, proposal: IsrProposal) -> None:
        self.pending = proposal
        # Whoever would leave counts until it has left; whoever would join counts from now on.
        self.maximal = frozenset(self.committed) | frozenset(proposal.isr)

    def withdraw(self) -> None:
        """The controller said no: back to what is committed."""
        self.commit(self.committed)

    def commit(self, isr: tuple[int, ...]) -> None:
        self.committed = isr
        self.pending = None
        self.maximal = frozenset(isr)
