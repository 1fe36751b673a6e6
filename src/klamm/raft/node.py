"""RaftNode: one voter of the metadata quorum, without any I/O.

Calls go in, Ready comes out: what the shell must do, and in which order. Today the quorum has one voter, who
needs nobody's consent: it elects itself when it starts and commits what its own disk holds. It knows neither
what the records mean nor where they are stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from klamm.base.clock import Ms
from klamm.base.ids import OffsetAndEpoch
from klamm.protocol.messages.control import LeaderChangeMessage, LeaderChangeMessageVoter
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import control_batch
from klamm.protocol.records.reader import Record
from klamm.raft import quorum
from klamm.raft.election_state import ElectionState
from klamm.raft.roles import Role, step
from klamm.raft.voters import VoterRecords

NO_VOTER_RECORDS = VoterRecords()


class NotLeader(Exception):
    """Only the leader of the quorum may add to its log."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch with its place in the log; data is the whole batch as it goes to disk."""

    base_offset: int
    count: int
    epoch: int
    timestamp: Ms
    data: bytearray

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.count


@dataclass(frozen=True, slots=True)
class Ready:
    """What the shell must do now, IN THIS ORDER."""

    # Must be on disk before anything else happens: a forgotten epoch could be led twice.
    persist: ElectionState | None = None
    append: Sequence[Batch] = ()
    # A majority has these on disk: whoever waits for them may be told.
    committed: Sequence[Batch] = ()


class RaftNode:
    def __init__(
        self,
        node_id: int,
        voters: frozenset[int],
        *,
        state: ElectionState,
        log_end: OffsetAndEpoch,
        voter_records: VoterRecords = NO_VOTER_RECORDS,
    ) -> None:
        """log_end: the end offset of the log and the epoch of its last batch (0 if it is empty)."""
        assert voters == {node_id}, "a quorum of several voters is not built yet"
        self.node_id = node_id
        self.voters = voters
        self.role = Role.UNATTACHED
        # The state file may be gone or older than the log; an epoch that the log has seen is over.
        self.epoch = max(state.epoch, log_end.epoch)
        self.end_offset = log_end.offset
        self.high_watermark = 0
        self._epoch_start = log_end.offset
        self._voter_records = voter_records
        self._uncommitted: deque[Batch] = deque()

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    def start(self, now: Ms) -> Ready:
        """Stand for election. The lone voter's own vote is a majority, so it leads a new epoch at once.

        Never the old epoch again, even if this node led it: unflushed records of it may be gone, and an offset
        must never name two different records in one epoch.
        """
        self.role = step(self.role, Role.CANDIDATE)
        self.epoch += 1
        assert quorum.is_majority({self.node_id}, self.voters)
        self.role = step(self.role, Role.LEADER)
        self._epoch_start = self.end_offset
        static = () if self._voter_records.is_dynamic else tuple(sorted(self.voters))
        state = ElectionState(epoch=self.epoch, leader_id=self.node_id, voters=static)
        return Ready(persist=state, append=[self._leader_change(now)])

    def propose(self, values: Sequence[bytes], now: Ms) -> Ready:
        """Add records to the log as one batch: after a crash either all of them are there or none."""
        if not self.is_leader:
            raise NotLeader(f"node {self.node_id} is {self.role.value}")
        records = [Record(timestamp=now, value=value) for value in values]
        data = build_batch(records, base_offset=self.end_offset, leader_epoch=self.epoch)
        return Ready(append=[self._appended(data, len(values), now)])

    def flushed(self, end_offset: int) -> Ready:
        """This node's disk holds the log up to end_offset."""
        self.high_watermark = quorum.high_watermark(
            {self.node_id: end_offset},
            epoch_start=self._epoch_start,
            current=self.high_watermark,
        )
        committed: list[Batch] = []
        while self._uncommitted and self._uncommitted[0].end_offset <= self.high_watermark:
            committed.append(self._uncommitted.popleft())
        return Ready(committed=committed)

    def withdraw(self, batch: Batch) -> None:
        """The shell could not append the newest batch: it never was."""
        assert self._uncommitted
        assert self._uncommitted[-1] is batch
        self._uncommitted.pop()
        self.end_offset = batch.base_offset

    def resign(self) -> None:
        self.role = step(self.role, Role.RESIGNED)

    def _leader_change(self, now: Ms) -> Batch:
        """Opens the epoch. Nothing of earlier epochs counts as committed before this record is."""
        voters = [LeaderChangeMessageVoter(voter_id=voter) for voter in sorted(self.voters)]
        message = LeaderChangeMessage(
            leader_id=self.node_id,
            voters=voters,
            granting_voters=[LeaderChangeMessageVoter(voter_id=self.node_id)],
        )
        # The voters that a new cluster was formatted with become part of its log.
        extra = self._voter_records.messages if self.end_offset == 0 else []
        data = control_batch(
            [message, *extra], timestamp=now, base_offset=self.end_offset, leader_epoch=self.epoch
        )
        return self._appended(data, 1 + len(extra), now)

    def _appended(self, data: bytearray, count: int, now: Ms) -> Batch:
        batch = Batch(self.end_offset, count, self.epoch, now, data)
        self.end_offset = batch.end_offset
        self._uncommitted.append(batch)
        return batch

    def check_invariants(self) -> None:
        assert self.high_watermark <= self.end_offset
        at = self.high_watermark
        for batch in self._uncommitted:
            assert batch.base_offset >= at, "batches stand in the order of their offsets"
            assert batch.epoch <= self.epoch
            at = batch.end_offset
        assert not self._uncommitted or at == self.end_offset
