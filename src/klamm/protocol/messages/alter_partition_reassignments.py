"""AlterPartitionReassignments, API 45."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class ReassignablePartition:
    partition_index: Int32 = 0
    replicas: NullableArray[Int32] = None


@struct
class ReassignableTopic:
    name: String = ""
    partitions: Array[ReassignablePartition] = []


@message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest:
    """Start, change or cancel moves of partitions to other brokers."""

    timeout_ms: Int32 = 60_000
    allow_replication_factor_change: Bool = field(since=1, default=True)
    topics: Array[ReassignableTopic] = []


@struct
class ReassignablePartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


@struct
class ReassignableTopicResponse:
    name: String = ""
    partitions: Array[ReassignablePartitionResponse] = []


@message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse:
    """The outcome for each partition."""

    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Bool = field(since=1, default=True)
    error_code: Int16 = 0
    error_message: NullableString = ""
    responses: Array[ReassignableTopicResponse] = []
