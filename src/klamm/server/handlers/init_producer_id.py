"""InitProducerId (22), v0-5: an id for an idempotent producer.

A transactional id needs a transaction coordinator, which this broker does not have yet; clients notice earlier, since
FindCoordinator is not advertised.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.server.call import Call, Later


def handle(request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse | Later:
    if request.transactional_id == "" or (request.producer_id < 0) != (request.producer_epoch < 0):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    producer_id = call.broker.producer_ids.take()
    if producer_id is None:
        return _answer_later(call)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def fail(request: InitProducerIdRequest, error: ApiError, version: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)


async def _answer_later(call: Call) -> InitProducerIdResponse:
    producer_id = await call.broker.producer_ids.fetch()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
