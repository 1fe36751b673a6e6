"""AddOffsetsToTxn, API 25."""

from klamm.protocol.declare import Int16, Int32, Int64, String, message


@message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    """Announce that a transaction will commit offsets of a group."""

    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: String = ""


@message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    """Whether the group's offsets partition is now part of the transaction."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
