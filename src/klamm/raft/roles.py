"""The roles of a node in the quorum, and which may follow which."""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    UNATTACHED = "unattached"
    CANDIDATE = "candidate"
    LEADER = "leader"
    RESIGNED = "resigned"


# unattached -> candidate   the node starts, or its election timeout passes
# candidate  -> leader      a majority of the voters granted their vote; a lone voter's own vote is enough
# leader     -> resigned    the node stops; an epoch once resigned is never led again
# resigned   -> candidate   a resigned voter stands again, in a new epoch
TRANSITIONS: dict[Role, frozenset[Role]] = {
    Role.UNATTACHED: frozenset({Role.CANDIDATE}),
    Role.CANDIDATE: frozenset({Role.LEADER}),
    Role.LEADER: frozenset({Role.RESIGNED}),
    Role.RESIGNED: frozenset({Role.CANDIDATE}),
}


def step(current: Role, target: Role) -> Role:
    assert target in TRANSITIONS[current], f"{current.value} may not become {target.value}"
    return target
