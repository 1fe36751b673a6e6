"""ElectLeaders, API 43."""

from klamm.protocol.declare import (
    Array,
    Int8,
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
class TopicPartitions:
    topic: String = ""
    partitions: Array[Int32] = []


@message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest:
    """Elect leaders now: the preferred replica, or any live one where none is in sync."""

    election_type: Int8 = field(since=1, default=0)
    topic_partitions: NullableArray[TopicPartitions] = []
    timeout_ms: Int32 = 60_000


@struct
class PartitionResult:
    partition_id: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


@struct
class ReplicaElectionResult:
    topic: String = ""
    partition_result: Array[PartitionResult] = []


@message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse:
    """The outcome for each partition."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = field(since=1, default=0)
    replica_election_results: Array[ReplicaElectionResult] = []
