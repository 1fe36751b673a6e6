"""May this producer end this transaction now, or has it done so already?

Before transaction.version 2 the epoch says nothing about which transaction is meant, so an end that finds the transaction
ended in the same way counts as a repetition. From version 2 on the epoch rises with every end (KIP-890). `e` is the
epoch that the coordinator has; `e - 1` comes with a repeated request:

                     abort, e - 1         abort, e      commit, e - 1         commit, e
    Empty            fenced               abort         fenced                invalid state
    Ongoing          fenced               abort         fenced                commit
    PrepareAbort     ending               fenced        invalid state         fenced
    PrepareCommit    invalid state        fenced        ending                fenced
    CompleteAbort    repeated             abort         invalid state         invalid state
    CompleteCommit   invalid state        abort         repeated              invalid state
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import ENDING, State
from klamm.coordinator.transaction.transaction import LAST_EPOCH, Transaction


def is_repeated(transaction: Transaction, producer: Producer, is_commit: bool) -> bool:
    """The rules without epochs that rise. True: it has ended so already. False: end it."""
    if transaction.producer_id != producer.id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer.epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if transaction.state is State.ONGOING:
        return False
    _check_same_end(transaction, is_commit)
    return True


def is_repeated_with_bump(transaction: Transaction, producer: Producer, is_commit: bool) -> bool:
    """The table above. True: it has ended so already. False: end it."""
    # The epochs were used up, and the answer with the new producer id was lost.
    is_replaced = (
        transaction.previous_producer_id == producer.id
        and producer.epoch == LAST_EPOCH - 1
        and transaction.producer_epoch == 0
    )
    if transaction.producer_id != producer.id and not is_replaced:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    state = transaction.state
    is_current = transaction.producer_epoch == producer.epoch
    is_before = transaction.producer_epoch == producer.epoch + 1
    if state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
        is_retry = is_before or is_replaced
        if not (is_retry or is_current):
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        if is_retry:
            _check_same_end(transaction, is_commit)
            return True
    elif not (is_before if state in ENDING else is_current):
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    elif state in ENDING:
        _check_same_end(transaction, is_commit)
    if is_commit and state is not State.ONGOING:
        raise ApiError(ErrorCode.INVALID_TXN_STATE)
    return False


def _check_same_end(transaction: Transaction, is_commit: bool) -> None:
    if transaction.state is State.EMPTY or transaction.is_commit != is_commit:
        raise ApiError(ErrorCode.INVALID_TXN_STATE)
    if transaction.state in ENDING:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
