"""InitProducerId, API 22."""

from klamm.protocol.declare import Bool, Int16, Int32, Int64, NullableString, field, message


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest:
    """Ask for a producer id and epoch.

    With a transactional id, also end what an older producer left open.
    """

    transactional_id: NullableString = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Int64 = field(since=3, default=-1)
    producer_epoch: Int16 = field(since=3, default=-1)
    enable_2pc: Bool = field(since=6, default=False)
    keep_prepared_txn: Bool = field(since=6, default=False)


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse:
    """The producer id and epoch to write with."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0
    ongoing_txn_producer_id: Int64 = field(since=6, default=-1)
    ongoing_txn_producer_epoch: Int16 = field(since=6, default=-1)
