"""The states of a transaction, and which may follow which.

    Empty            -> Empty             InitProducerId: another epoch, or another producer id
                     -> Ongoing           the first partition, or the first offsets
                     -> PrepareAbort      an abort of nothing (transaction.version 2): the epoch rises all the same
                     -> Dead              nobody used the id for long
    Ongoing          -> Ongoing           more partitions
                     -> PrepareCommit     EndTxn
                     -> PrepareAbort      EndTxn; a new producer takes over the id; the transaction timed out
    PrepareCommit    -> CompleteCommit    the last marker is written
    PrepareAbort     -> CompleteAbort     the last marker is written
    Complete*        as Empty

A Prepare state is the decision: it is committed before any marker is written, and nothing changes it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class State(IntEnum):
    """The numbers stand in the log, the names in answers to clients."""

    label: str

    def __new__(cls, number: int, label: str) -> State:
        state = int.__new__(cls, number)
        state._value_ = number
        state.label = label
        return state

    EMPTY = 0, "Empty"
    ONGOING = 1, "Ongoing"
    PREPARE_COMMIT = 2, "PrepareCommit"
    PREPARE_ABORT = 3, "PrepareAbort"
    COMPLETE_COMMIT = 4, "CompleteCommit"
    COMPLETE_ABORT = 5, "CompleteAbort"
    # A transactional id that is being forgotten. Here it is gone with its tombstone, so nobody ever sees it so.
    DEAD = 6, "Dead"
    # What Kafka calls the moment between fencing a producer and aborting its transaction, which here is one step.
    PREPARE_EPOCH_FENCE = 7, "PrepareEpochFence"


STATE_BY_LABEL = MappingProxyType({state.label: state for state in State})

# Decided, and the markers are on their way.
ENDING = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
# Nothing is open: a transaction may begin, and an id that stays here for long is forgotten.
AT_REST = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})

_FROM_REST = frozenset({State.EMPTY, State.ONGOING, State.PREPARE_ABORT, State.DEAD})
NEXT: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.EMPTY: _FROM_REST,
        State.ONGOING: frozenset({State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}),
        State.PREPARE_COMMIT: frozenset({State.COMPLETE_COMMIT}),
        State.PREPARE_ABORT: frozenset({State.COMPLETE_ABORT}),
        State.COMPLETE_COMMIT: _FROM_REST,
        State.COMPLETE_ABORT: _FROM_REST,
        State.DEAD: frozenset(),
        State.PREPARE_EPOCH_FENCE: frozenset(),
    }
)
