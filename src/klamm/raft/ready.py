"""What the machine asks of its shell."""

from __future__ import annotations

from dataclasses import dataclass, field

from klamm.base.clock import Ms
from klamm.raft.election_state import ElectionState
from klamm.raft.messages import Answer, Send, SnapshotAnswer


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
