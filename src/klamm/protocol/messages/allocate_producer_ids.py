"""AllocateProducerIds, API 67."""

from klamm.protocol.declare import Int16, Int32, Int64, message


@message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    """A broker asks the controller for a block of producer ids to hand out."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


@message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    """The first id of the block and its length."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id_start: Int64 = 0
    producer_id_len: Int32 = 0
