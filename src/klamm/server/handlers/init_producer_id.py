"""InitProducerId (22), v0-5: an id for an idempotent producer, or the producer that owns a transactional id from now on.

With a transactional id, a transaction that an older producer left open is aborted first, and the client is told to come
again: CONCURRENT_TRANSACTIONS.
v3  a producer may name its id and epoch, to go on after an error with a higher epoch (KIP-360)
v4  PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.server.authorization.rights import IDEMPOTENT_WRITE, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Later, Message
from klamm.server.network.pending import Parked

_FIRST_WITH_FENCED = 4
_NONE = -1


def handle(request: InitProducerIdRequest, call: Call) -> Message | Parked | Later:
    if request.transactional_id is not None:
        call.require(WRITE_TRANSACTIONAL_ID, request.transactional_id)
    elif not call.may(IDEMPOTENT_WRITE, quietly=True) and not call.may_any(WRITE_TOPIC):
        # Once more, to be noted.
        call.require(IDEMPOTENT_WRITE)
    if request.transactional_id == "" or (
        (request.producer_id == _NONE) != (request.producer_epoch == _NONE)
    ):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    ids = call.broker.producer_ids
    if request.transactional_id is not None:
        return _refill_and_ask(request, call) if ids.is_empty else _ask(request, call)
    producer_id = ids.take()
    return _fetch(call) if producer_id is None else _response(producer_id)


def fail(request: InitProducerIdRequest, error: ApiError, version: int) -> InitProducerIdResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)


def _response(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


async def _fetch(call: Call) -> Message:
    return _response(await call.broker.producer_ids.fetch())


async def _refill_and_ask(request: InitProducerIdRequest, call: Call) -> Message | Parked:
    await call.broker.producer_ids.refill()
    return _ask(request, call)


def _ask(request: InitProducerIdRequest, call: Call) -> Message | Parked:
    assert request.transactional_id is not None
    return call.broker.transactions.ask(
        request.transactional_id,
        request,
        call,
        lambda shard, token: shard.init_producer_id(request, token, call.now),
    )
