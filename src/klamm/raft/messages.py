"""What the nodes of a quorum say to each other, as facts, and what the machine asks of its shell (Ready).

Kafka's wire form is the shell's affair. Every answer carries the epoch and the leader that its sender knows: that is how a node that was away finds both again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, OffsetAndEpoch, Uuid
from klamm.protocol.wire import Buffer
from klamm.raft.election_state import ElectionState


class ReplicaKey(NamedTuple):
    """A node and the directory that holds its copy of the log: with another directory it is another replica."""

    id: int
    directory: Uuid = ZERO_UUID


class Address(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Vote:
    candidate: ReplicaKey
    epoch: int
    log_end: OffsetAndEpoch
    # Asks whether the vote would be given; nobody binds themselves by the answer (KIP-996).
    is_pre_vote: bool
    voter: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class BeginEpoch:
    leader_id: int
    epoch: int
    voter: ReplicaKey | None = None
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class EndEpoch:
    leader_id: int
    epoch: int
    # Who should stand next, the one with the longest log first.
    preferred: tuple[ReplicaKey, ...] = ()
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """`log_end` is where the fetcher's log ends, which is also what it has on disk."""

    replica: ReplicaKey
    epoch: int
    log_end: OffsetAndEpoch
    high_watermark: int = -1


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    replica: ReplicaKey
    epoch: int
    snapshot: OffsetAndEpoch
    position: int


@dataclass(frozen=True, slots=True)
class UpdateVoter:
    """A voter is not where the log says (KIP-853)."""

    voter: ReplicaKey
    epoch: int
    address: Address


Request = Vote | BeginEpoch | EndEpoch | Fetch | FetchSnapshot | UpdateVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    error: ErrorCode = ErrorCode.NONE
    epoch: int
    leader_id: int | None = None
    leader_address: Address | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteAnswer(Answer):
    is_granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer(Answer):
    """At most one of these: records from the asked offset on, where the logs part, or a snapshot to load first."""

    high_watermark: int = -1
    records: Buffer = b""
    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotAnswer(Answer):
    """A piece of a snapshot and the size of the whole."""

    snapshot: OffsetAndEpoch
    position: int = 0
    size: int = 0
    data: Buffer = b""


class Send(NamedTuple):
    """`to` is a node, or None for any that may know the leader. Whoever sends reports the answer, or that none came."""

    to: int | None
    address: Address | None
    request: Request


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch with its place in the log; data is the whole batch as it goes to disk."""

    base_offset: int
    count: int
    epoch: int
    timestamp: Ms
    data: bytearray | memoryview

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.count


@dataclass(slots=True)
class Ready:
    """What the shell must do now, IN THIS ORDER."""

    # Must be on disk before anything else happens: a forgotten vote or epoch could elect two leaders.
    persist: ElectionState | None = None
    # The log ends there from now on.
    truncate_to: int | None = None
    append: list[Batch] = field(default_factory=list)
    # A piece of a snapshot to write; then `snapshot_written` is called, behind the last one `snapshot_loaded`.
    snapshot: SnapshotAnswer | None = None
    send: list[Send] = field(default_factory=list)
    answer: Answer | None = None
