"""DescribeProducers, API 61."""

from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    message,
    struct,
)


@struct
class TopicRequest:
    name: String = ""
    partition_indexes: Array[Int32] = []


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersRequest:
    """Ask which producers have lately written to partitions."""

    topics: Array[TopicRequest] = []


@struct
class ProducerState:
    producer_id: Int64 = 0
    producer_epoch: Int32 = 0
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32 = 0
    current_txn_start_offset: Int64 = -1


@struct
class PartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    active_producers: Array[ProducerState] = []


@struct
class TopicResponse:
    name: String = ""
    partitions: Array[PartitionResponse] = []


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersResponse:
    """Active producers with their last sequence and any open transaction."""

    throttle_time_ms: Int32 = 0
    topics: Array[TopicResponse] = []
