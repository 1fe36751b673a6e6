"""Bugs of the metadata quorum and of who decides in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from klamm.metadata import snapshot
from klamm.metadata.image_records import records_of
from klamm.raft import election_state, leadership, rules
from klamm.raft.messages import ReplicaKey
from klamm.raft.node import RaftNode
from klamm.raft.roles import Leader
from klamm.raft.voters import VoterSet
from klamm.server.loops.controller_driver import ControllerDriver
from klamm.server.loops.metadata_log import QUORUM_STATE, MetadataLog
from klamm.server.quorum import voter_changes
from klamm.testing.mutants.mutant import Patch, mutant


@mutant
def forgets_its_vote(patch: Patch) -> None:
    """The vote is not written down."""

    def write_election(self: MetadataLog, state: Any) -> None:
        whole(self, replace(state, voted_id=None))

    whole = patch.set(MetadataLog, "write_election", write_election)


@mutant
def votes_before_the_sync(patch: Patch) -> None:
    """The vote is written down, and nobody waits until the disk has it."""

    def write_election(self: MetadataLog, state: Any) -> None:
        text = election_state.dump(state).encode()
        self._disk.write(f"{self.path}/{QUORUM_STATE}", text)

    patch.set(MetadataLog, "write_election", write_election)


@mutant
def votes_for_shorter_logs(patch: Patch) -> None:
    """Whoever asks first gets the vote, whatever it has of the log."""

    patch.set(rules, "is_up_to_date", lambda *_: True)


@mutant
def answers_when_deposed(patch: Patch) -> None:
    """Who loses the quorum tells those who wait that all is well."""

    def tell_all(self: ControllerDriver, error: Any) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.answer.done():
                waiting.answer.set_result(waiting.reply)

    patch.set(ControllerDriver, "_tell_all", tell_all)


@mutant
def commits_alone(patch: Patch) -> None:
    """The leader of the quorum commits what its own disk has."""

    def high_watermark(state: Leader, me: Any, voters: Any, *, current: int) -> int:
        return max(current, state.flushed)

    patch.set(leadership, "high_watermark", high_watermark)


@mutant
def snapshots_lack_their_last_record(patch: Patch) -> None:
    """A snapshot of the metadata is one record short."""
    patch.set(snapshot, "records_of", lambda image: list(records_of(image))[:-1])


@mutant
def removes_two_voters_at_once(patch: Patch) -> None:
    """Who asks for one voter less gets two less."""

    def with_removed(raft: RaftNode, key: ReplicaKey) -> VoterSet:
        left: VoterSet = whole(raft, key)
        return left.without(max(left.ids - {raft.me.id}))

    whole = patch.set(voter_changes, "with_removed", with_removed)
