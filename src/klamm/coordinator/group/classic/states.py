"""The states of a classic group, and which may follow which."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """The value is how Kafka spells it to clients."""

    # No members. The group lives on for its offsets.
    EMPTY = "Empty"
    # A round is forming: those who join are not answered until all members have joined or time is up.
    PREPARING_REBALANCE = "PreparingRebalance"
    # The round is formed: all wait for the leader's assignment.
    COMPLETING_REBALANCE = "CompletingRebalance"
    # Everybody has its part.
    STABLE = "Stable"
    # Removed: nobody can find it any more.
    DEAD = "Dead"


# Their own names: a request asks for a handful, and to ask an enum for its member costs four times as much.
EMPTY = State.EMPTY
PREPARING_REBALANCE = State.PREPARING_REBALANCE
COMPLETING_REBALANCE = State.COMPLETING_REBALANCE
STABLE = State.STABLE
DEAD = State.DEAD


# When each transition is taken:
#   Empty -> Preparing         the first member joins; it waits a while for others (group.initial.rebalance.delay.ms)
#   Stable -> Preparing        a member joins, leaves or is lost, the leader joins again, or a member's metadata changed
#   Completing -> Preparing    the same, or some members did not ask for their assignment in time
#   Preparing -> Completing    all members have joined, or the rebalance timeout has passed and somebody has
#   Preparing -> Empty         all members are gone
#   Completing -> Stable       the leader's assignment is written
#   any -> Dead                the group is deleted, has expired or has become one of another kind
MAY_FOLLOW: dict[State, frozenset[State]] = {
    EMPTY: frozenset({PREPARING_REBALANCE, DEAD}),
    PREPARING_REBALANCE: frozenset({COMPLETING_REBALANCE, EMPTY, DEAD}),
    COMPLETING_REBALANCE: frozenset({STABLE, PREPARING_REBALANCE, DEAD}),
    STABLE: frozenset({PREPARING_REBALANCE, DEAD}),
    DEAD: frozenset(),
}
