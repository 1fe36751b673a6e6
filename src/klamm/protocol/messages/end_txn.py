"""EndTxn, API 26."""

from klamm.protocol.declare import Bool, Int16, Int32, Int64, String, field, message


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnRequest:
    """Commit or abort a transaction."""

    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: Bool = False


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnResponse:
    """The outcome, and from version 5 on the producer id and epoch for the next transaction."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = field(since=5, default=-1)
    producer_epoch: Int16 = field(since=5, default=-1)
