"""The epoch a node is in: its number, this node's vote in it, and its leader as far as it is known.

The first two are never forgotten (election_state.py): a vote given twice, or an epoch entered again, elects two leaders.
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, OffsetAndEpoch
from klamm.raft.election_state import ElectionState
from klamm.raft.messages import (
    Address,
    Answer,
    FetchAnswer,
    FetchSnapshot,
    ReplicaKey,
    SnapshotAnswer,
    VoteAnswer,
)
from klamm.raft.voters import VoterHistory


class Epoch:
    __slots__ = ("leader_address", "leader_id", "number", "voted")

    def __init__(self, state: ElectionState, log_end: OffsetAndEpoch) -> None:
        # The state file may be gone or older than the log; an epoch that the log has seen is over.
        self.number = max(state.epoch, log_end.epoch)
        is_current = state.epoch == self.number
        self.leader_id = state.leader_id if is_current else None
        self.leader_address: Address | None = None
        self.voted: ReplicaKey | None = None
        if is_current and state.voted_id is not None:
            self.voted = ReplicaKey(state.voted_id, state.voted_directory)

    def enter(self, number: int, leader_id: int | None, address: Address | None = None) -> None:
        assert number >= self.number
        if number > self.number:
            self.voted = None
        self.number = number
        self.leader_id = leader_id
        self.leader_address = address

    def is_led_by_another_than(self, leader_id: int, number: int) -> bool:
        """Two leaders in one epoch: one of the nodes is not what it says it is."""
        return number == self.number and self.leader_id not in (None, leader_id)

    def to_state(self, history: VoterHistory) -> ElectionState:
        return ElectionState(
            epoch=self.number,
            leader_id=self.leader_id,
            voted_id=self.voted.id if self.voted else None,
            voted_directory=self.voted.directory if self.voted else ZERO_UUID,
            voters=() if history.records.is_dynamic else tuple(sorted(history.voters.ids)),
        )

    # Every answer says which epoch it is and who leads.

    def answer(self, error: ErrorCode = ErrorCode.NONE) -> Answer:
        return Answer(
            error=error,
            epoch=self.number,
            leader_id=self.leader_id,
            leader_address=self.leader_address,
        )

    def vote_answer(
        self, error: ErrorCode = ErrorCode.NONE, *, is_granted: bool = False
    ) -> VoteAnswer:
        return VoteAnswer(
            error=error,
            epoch=self.number,
            leader_id=self.leader_id,
            leader_address=self.leader_address,
            is_granted=is_granted,
        )

    def fetch_answer(
        self,
        error: ErrorCode = ErrorCode.NONE,
        *,
        high_watermark: int = -1,
        diverging: OffsetAndEpoch | None = None,
        snapshot: OffsetAndEpoch | None = None,
    ) -> FetchAnswer:
        return FetchAnswer(
            error=error,
            epoch=self.number,
            leader_id=self.leader_id,
            leader_address=self.leader_address,
            high_watermark=high_watermark,
            diverging=diverging,
            snapshot=snapshot,
        )

    def snapshot_answer(self, error: ErrorCode, fetch: FetchSnapshot) -> SnapshotAnswer:
        return SnapshotAnswer(
            error=error,
            epoch=self.number,
            leader_id=self.leader_id,
            leader_address=self.leader_address,
            snapshot=fetch.snapshot,
            position=fetch.position,
        )
