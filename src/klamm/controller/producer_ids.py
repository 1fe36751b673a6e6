"""Producer ids: brokers get them in blocks, and hand them out one by one. No id is ever given twice."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.metadata.records.producer_ids import ProducerIdsRecord
from klamm.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

BLOCK_SIZE = 1000
_LARGEST = (1 << 63) - 1


def allocate(
    context: Context, request: AllocateProducerIdsRequest
) -> Decision[AllocateProducerIdsResponse]:
    broker = context.image.brokers.get(request.broker_id)
    if broker is None:
        raise ApiError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, "The given broker ID was not registered."
        )
    if broker.epoch != request.broker_epoch:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, "Broker epoch has changed.")
    first = context.image.next_producer_id
    if first > _LARGEST - BLOCK_SIZE:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "Exhausted all producer ids.")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + BLOCK_SIZE,
    )
    reply = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision(reply, [record])
