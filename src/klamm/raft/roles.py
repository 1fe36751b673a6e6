"""The roles of a node in the quorum, which may follow which, and what each of them remembers.

All of it is forgotten with the role; what must outlive a role or a crash is in election_state.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from klamm.base.clock import Ms
from klamm.base.ids import OffsetAndEpoch
from klamm.raft.messages import ReplicaKey


class Role(Enum):
    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


# -> unattached    a newer epoch was heard of, without its leader; a resigned node has waited long enough
# -> prospective   nothing was heard of a leader for too long: ask who would vote for us (observers never do)
# -> candidate     a majority would: ask for votes, in a new epoch
# -> leader        a majority of the voters granted their vote; a lone voter's own vote is enough
# -> follower      the leader of this epoch, or of a newer one, made itself known
# -> resigned      a leader stops, or has lost its majority; an epoch once resigned is never led again
TRANSITIONS: dict[Role, frozenset[Role]] = {
    Role.UNATTACHED: frozenset({Role.UNATTACHED, Role.PROSPECTIVE, Role.FOLLOWER}),
    Role.PROSPECTIVE: frozenset({Role.UNATTACHED, Role.CANDIDATE, Role.FOLLOWER}),
    Role.CANDIDATE: frozenset({Role.UNATTACHED, Role.PROSPECTIVE, Role.LEADER, Role.FOLLOWER}),
    Role.LEADER: frozenset({Role.UNATTACHED, Role.FOLLOWER, Role.RESIGNED}),
    Role.FOLLOWER: frozenset({Role.UNATTACHED, Role.PROSPECTIVE, Role.FOLLOWER}),
    Role.RESIGNED: frozenset({Role.UNATTACHED, Role.FOLLOWER}),
}


def step(current: Role, target: Role) -> Role:
    assert target in TRANSITIONS[current], f"{current.value} may not become {target.value}"
    return target


@dataclass(slots=True)
class Unattached:
    election_at: Ms


@dataclass(slots=True)
class Voting:
    """Of a prospective node and of a candidate."""

    ends_at: Ms
    granted: set[int]
    rejected: set[int] = field(default_factory=set)

    def hear(self, voter: int, *, is_granted: bool) -> None:
        (self.granted if is_granted else self.rejected).add(voter)


@dataclass(slots=True)
class Follower:
    leader_id: int
    # Without an answer of the leader until then it stands for election.
    timeout_at: Ms
    # Has heard the leader itself in this epoch: then it does not help others to depose it.
    has_fetched: bool = False
    # The snapshot that is being loaded, and how much of it is here.
    snapshot: OffsetAndEpoch | None = None
    position: int = 0
    size: int = -1
    # The last piece that came is not in its file yet.
    is_writing: bool = False
    # When the leader may be told again where this voter is.
    tell_at: Ms = 0

    @property
    def wants_piece(self) -> bool:
        return self.position != self.size and not self.is_writing

    @property
    def is_loading(self) -> bool:
        """All of the snapshot is here, and it is being made the log's new beginning."""
        return self.snapshot is not None and self.position == self.size


@dataclass(slots=True)
class Progress:
    """What the leader knows of another replica."""

    key: ReplicaKey
    end_offset: int = -1
    fetched_at: Ms | None = None
    # When it last said anything, also what could not be answered with records.
    heard_at: Ms | None = None
    caught_up_at: Ms | None = None
    # The log's end when it fetched last: when it has reached that, it was caught up then.
    end_at_last_fetch: int = -1

    def fetched(self, end_offset: int, *, leader_end: int, now: Ms) -> None:
        if end_offset >= leader_end:
            self.caught_up_at = now
        elif self.fetched_at is not None and end_offset >= self.end_at_last_fetch >= 0:
            self.caught_up_at = max(self.caught_up_at or 0, self.fetched_at)
        self.end_offset = end_offset
        self.fetched_at = self.heard_at = now
        self.end_at_last_fetch = leader_end


@dataclass(slots=True)
class Leader:
    # Where its epoch began: nothing is committed before a record of it is.
    epoch_start: int
    since: Ms
    # How much of the log is on the leader's own disk.
    flushed: int
    progress: dict[ReplicaKey, Progress] = field(default_factory=dict)
    # When each voter was last told who leads.
    begun_at: dict[int, Ms] = field(default_factory=dict)


@dataclass(slots=True)
class Resigned:
    ends_at: Ms
    preferred: tuple[ReplicaKey, ...] = ()
    unaware: set[int] = field(default_factory=set)


RoleState = Unattached | Voting | Follower | Leader | Resigned
