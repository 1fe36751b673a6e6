"""Transactions, as they stand in __transaction_state."""

from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableArray,
    String,
    field,
    message,
    struct,
)


@message(api_key=0, versions="0")
class TransactionLogKey:
    """Key of a transaction."""

    transactional_id: String = ""


@struct
class PartitionsSchema:
    topic: String = ""
    partition_ids: Array[Int32] = []


@message(api_key=0, versions="0-1", flexible="1+")
class TransactionLogValue:
    """The state of a transaction: its producer, its partitions and how far its end has come."""

    producer_id: Int64 = 0
    previous_producer_id: Int64 = field(since=1, tag=0, default=-1)
    next_producer_id: Int64 = field(since=1, tag=1, default=-1)
    producer_epoch: Int16 = 0
    next_producer_epoch: Int16 = field(since=1, tag=3, default=-1)
    transaction_timeout_ms: Int32 = 0
    transaction_status: Int8 = 0
    transaction_partitions: NullableArray[PartitionsSchema] = []
    transaction_last_update_timestamp_ms: Int64 = 0
    transaction_start_timestamp_ms: Int64 = 0
    client_transaction_version: Int16 = field(since=1, tag=2, default=0)
