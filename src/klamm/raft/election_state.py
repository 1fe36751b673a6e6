"""What a voter must never forget: the epoch, its vote, its leader; and the file it is kept in.

The text is Kafka's quorum-state file: version 0 for static voters, version 1 for voters that live in the log
(KIP-853). Writing it to disk is the shell's task.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from klamm.base.ids import ZERO_UUID, Uuid

_NOBODY = -1


class CorruptElectionState(Exception):
    """The quorum-state file cannot be read. Guessing could elect two leaders in one epoch."""


@dataclass(frozen=True, slots=True)
class ElectionState:
    epoch: int = 0
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory: Uuid = ZERO_UUID
    # Those of a static quorum; where the log has the voters, the file does not.
    voters: tuple[int, ...] = ()


def dump(state: ElectionState) -> str:
    election = {
        "leaderId": _NOBODY if state.leader_id is None else state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": _NOBODY if state.voted_id is None else state.voted_id,
    }
    if state.voters:
        voters = [{"voterId": voter} for voter in state.voters]
        fields = {"clusterId": "", **election, "appliedOffset": 0, "currentVoters": voters}
        fields["data_version"] = 0
    else:
        fields = {**election, "votedDirectoryId": str(state.voted_directory), "data_version": 1}
    return json.dumps(fields, separators=(",", ":"))


def parse(text: str) -> ElectionState:
    try:
        fields: Any = json.loads(text)
        version = int(fields["data_version"])
        voters = fields.get("currentVoters") or []
        state = ElectionState(
            epoch=int(fields["leaderEpoch"]),
            leader_id=_somebody(fields["leaderId"]),
            voted_id=_somebody(fields["votedId"]),
            voted_directory=Uuid.parse(fields.get("votedDirectoryId") or str(ZERO_UUID)),
            voters=tuple(int(voter["voterId"]) for voter in voters),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptElectionState(f"quorum-state is not readable: {error}") from error
    if version not in (0, 1) or state.epoch < 0:
        raise CorruptElectionState(f"quorum-state has version {version}, epoch {state.epoch}")
    return state


def _somebody(node: object) -> int | None:
    number = int(str(node))
    return None if number == _NOBODY else number
