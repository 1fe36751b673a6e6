"""EndTxn (26), v0-5: commit or abort a transaction.

The answer comes when the decision is written down. Markers follow; what is asked before they are all written is answered
CONCURRENT_TRANSACTIONS.
v2  PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
v5  transaction.version 2 (KIP-890): the epoch rises with every end, and the answer tells the next one
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.metadata.features import BUMPS_EPOCHS
from klamm.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from klamm.server.authorization.rights import WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Later, Message
from klamm.server.network.pending import Parked

_FIRST_WITH_FENCED = 2
_FIRST_THAT_BUMPS = 5


def handle(request: EndTxnRequest, call: Call) -> Message | Parked | Later:
    call.require(WRITE_TRANSACTIONAL_ID, request.transactional_id)
    if call.broker.producer_ids.is_empty:
        # The epochs of the producer may be used up, and then it gets another id.
        return _answer_later(request, call)
    return _answer(request, call)


def fail(request: EndTxnRequest, error: ApiError, version: int) -> EndTxnResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=code)


async def _answer_later(request: EndTxnRequest, call: Call) -> Message | Parked:
    await call.broker.producer_ids.refill()
    return _answer(request, call)


def _answer(request: EndTxnRequest, call: Call) -> Message | Parked:
    return call.broker.transactions.ask(
        request.transactional_id,
        request,
        call,
        lambda shard, token: shard.end(
            request.transactional_id,
            Producer(request.producer_id, request.producer_epoch),
            request.committed,
            token,
            client_version=BUMPS_EPOCHS if call.version >= _FIRST_THAT_BUMPS else 0,
            now=call.now,
        ),
    )
