"""What clients did and what they were told: the one side of every invariant. scan.py has the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from klamm.base.ids import TopicPartition


class Outcome(Enum):
    # It may have happened, or may still happen.
    UNKNOWN = "unknown"
    DONE = "done"
    # The client was told that it did not happen.
    NOT_DONE = "not done"


@dataclass(slots=True, eq=False)
class Sent:
    """One record. No two have the same value; None, a tombstone, is known by its key alone."""

    producer: str
    place: TopicPartition
    key: bytes | None
    value: bytes | None
    began: float
    transaction: Transaction | None = None
    outcome: Outcome = Outcome.UNKNOWN
    offset: int = -1
    ended: float = -1.0


@dataclass(slots=True, eq=False)
class Transaction:
    transactional_id: str
    # Which run of the client with this id it belongs to.
    run: int
    began: float
    sent: list[Sent] = field(default_factory=list)
    # What it commits for a group that nobody else commits for.
    group: str | None = None
    group_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    is_commit: bool = True
    outcome: Outcome = Outcome.UNKNOWN
    ending_began: float = -1.0
    ended: float = -1.0


@dataclass(slots=True, eq=False)
class Commit:
    """A member commits an offset of its group."""

    group: str
    place: TopicPartition
    offset: int
    member: str
    generation: int
    # Of the group; a member of the newer protocol has an epoch of its own.
    has_group_generation: bool
    began: float
    outcome: Outcome = Outcome.UNKNOWN
    ended: float = -1.0


@dataclass(frozen=True, slots=True)
class Read:
    reader: str
    is_committed: bool
    place: TopicPartition
    offset: int
    value: bytes | None
    at: float
    # Of one reader, who read one after the other; -1 where what comes next may come from somewhere else.
    session: int = -1


@dataclass(slots=True, eq=False)
class TopicLife:
    """From one creation of a topic to its deletion."""

    name: str
    created: float
    deletion_began: float | None = None
    deleted: float | None = None


@dataclass(slots=True, eq=False)
class Setting:
    """An administrator sets a config of a topic."""

    topic: str
    name: str
    value: str
    outcome: Outcome = Outcome.UNKNOWN


@dataclass(slots=True)
class History:
    sent: list[Sent] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    # (transactional id, run) -> when it asked for the id, and when it was told that it has it.
    initialized: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    # (group, generation, member) -> what it had, of groups whose members are told all of it at once.
    assignments: dict[tuple[str, int, str], frozenset[TopicPartition]] = field(default_factory=dict)
    topics: list[TopicLife] = field(default_factory=list)
    # By one administrator, in this order.
    settings: list[Setting] = field(default_factory=list)
    # Below these offsets somebody asked to delete.
    deleted_before: dict[TopicPartition, int] = field(default_factory=dict)
    operations: int = 0

    def counts(self, sent: Sent) -> bool:
        """Acknowledged, and not part of a transaction that did not commit."""
        if sent.outcome is not Outcome.DONE:
            return False
        part_of = sent.transaction
        return part_of is None or (part_of.is_commit and part_of.outcome is Outcome.DONE)

    def acknowledged(self) -> Iterable[Sent]:
        return (each for each in self.sent if each.outcome is Outcome.DONE)

    def life_at(self, topic: str, when: float) -> TopicLife | None:
        """The life of the topic in which something of that time happened, if it is certain which."""
        for life in reversed(self.topics):
            if life.name == topic and life.created <= when:
                is_certain = life.deletion_began is None or when < life.deletion_began
                return life if is_certain else None
        return None

    def is_current(self, topic: str, when: float) -> bool:
        life = self.life_at(topic, when)
        return life is not None and life.deletion_began is None
