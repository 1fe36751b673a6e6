"""ListTransactions (66), v0-2: the transactional ids that this broker coordinates.

v1  only those open for longer than a duration (KIP-994)
v2  only those that a pattern matches, in RE2's syntax (KIP-1152)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.consumer.regex import matching
from klamm.coordinator.shard import Outcome, Reply
from klamm.coordinator.transaction.shard import TransactionShard
from klamm.coordinator.transaction.states import STATE_BY_LABEL
from klamm.coordinator.transaction.transaction import Transaction
from klamm.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from klamm.server.authorization.rights import DESCRIBE_TRANSACTIONAL_ID
from klamm.server.call import Call, Message, Steps
from klamm.server.network.pending import Parked


def handle(request: ListTransactionsRequest, call: Call) -> Message | Parked | Steps:
    transactions = call.broker.transactions
    if transactions.is_loading:
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if request.transactional_id_pattern:
        # One that is none is refused now: when the replies come it is too late.
        matching(request.transactional_id_pattern, ())

    def list_all(shard: TransactionShard, token: Token) -> Outcome:
        found = [
            each for each in shard.transactions.values() if _is_wanted(request, each, call.now.wall)
        ]
        return Outcome(replies=((token, found),))

    # Each shard's answer waits until what it has seen is committed.
    questions = [(index, list_all) for index in transactions.indexes]
    return transactions.ask_each(
        questions, request, call, lambda replies: _join(request, replies, call), is_read=True
    )


def _join(
    request: ListTransactionsRequest, replies: list[Reply], call: Call
) -> ListTransactionsResponse:
    found: list[Transaction] = []
    for reply in replies:
        if isinstance(reply, list):
            found += reply
        elif isinstance(reply, ApiError) and reply.code is not ErrorCode.NOT_COORDINATOR:
            return ListTransactionsResponse(error_code=reply.code)
    if request.transactional_id_pattern:
        wanted = matching(
            request.transactional_id_pattern, (each.transactional_id for each in found)
        )
        found = [each for each in found if each.transactional_id in wanted]
    names = (each.transactional_id for each in found)
    hidden = call.denied(DESCRIBE_TRANSACTIONAL_ID, names, quietly=True)
    return ListTransactionsResponse(
        unknown_state_filters=[
            each for each in dict.fromkeys(request.state_filters) if each not in STATE_BY_LABEL
        ],
        transaction_states=[
            TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state.label,
            )
            for each in found
            if each.transactional_id not in hidden
        ],
    )


def _is_wanted(request: ListTransactionsRequest, transaction: Transaction, now: int) -> bool:
    if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and transaction.state.label not in request.state_filters:
        return False
    # What has nothing open began before time.
    return request.duration_filter < 0 or now - transaction.start_ms > request.duration_filter
