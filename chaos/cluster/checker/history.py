"""What clients asked for, when, and what they were told. An operation that is not answered yet is unknown, like one that failed halfway."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from klamm.base.ids import TopicPartition

NEVER = float("inf")


class Outcome(Enum):
    OK = "ok"
    # It certainly did not happen.
    FAILED = "failed"
    # It may have happened, or may still happen.
    UNKNOWN = "unknown"


@dataclass(slots=True, eq=False, kw_only=True)
class Send:
    """One record; no two have the same value. `process` is one life of a client: what it sends has an order."""

    process: str
    # Whose code it is: a fault of it may be ours or not.
    client: str
    place: TopicPartition
    value: bytes
    invoked: float
    transaction: Transaction | None = None
    outcome: Outcome = Outcome.UNKNOWN
    offset: int = -1
    completed: float = NEVER


@dataclass(slots=True, eq=False, kw_only=True)
class Transaction:
    process: str
    transactional_id: str
    # The older of two processes with one transactional id has the lower number.
    run: int
    invoked: float
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    group: str | None = None
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    is_commit: bool = True
    # When its end was asked for.
    ending: float = NEVER
    outcome: Outcome = Outcome.UNKNOWN
    completed: float = NEVER

    @property
    def is_committed(self) -> bool:
        return self.is_commit and self.outcome is Outcome.OK

    @property
    def is_aborted(self) -> bool:
        return not self.is_commit and self.outcome is Outcome.OK


@dataclass(slots=True, eq=False, kw_only=True)
class Takeover:
    """A process took a transactional id over: older ones are fenced from `completed` on."""

    transactional_id: str
    run: int
    invoked: float
    completed: float = NEVER


@dataclass(slots=True, eq=False, kw_only=True)
class Poll:
    """What one call gave. A session is a time in which a reader keeps its partitions and its place in them."""

    process: str
    session: int
    is_committed: bool
    invoked: float
    completed: float
    records: list[tuple[TopicPartition, int, bytes]]
    group: str | None = None
    transaction: Transaction | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Ownership:
    """A member of a group was told that a partition is its own."""

    group: str
    member: str
    place: TopicPartition
    since: float
    until: float = NEVER
    # Of the whole group; None where members have epochs of their own.
    generation: int | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Commit:
    group: str
    member: str
    place: TopicPartition
    offset: int
    invoked: float
    generation: int | None = None
    outcome: Outcome = Outcome.UNKNOWN
    completed: float = NEVER


@dataclass(slots=True)
class History:
    sends: list[Send] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    takeovers: list[Takeover] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    ownerships: list[Ownership] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)

    @property
    def operations(self) -> int:
        parts = (self.sends, self.transactions, self.takeovers, self.polls, self.commits)
        return sum(map(len, parts))
