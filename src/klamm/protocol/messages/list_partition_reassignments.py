"""ListPartitionReassignments, API 46."""

from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@struct
class ListPartitionReassignmentsTopics:
    name: String = ""
    partition_indexes: Array[Int32] = []


@message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    """Ask which partitions are on the move."""

    timeout_ms: Int32 = 60_000
    topics: NullableArray[ListPartitionReassignmentsTopics] = None


@struct
class OngoingPartitionReassignment:
    partition_index: Int32 = 0
    replicas: Array[Int32] = []
    adding_replicas: Array[Int32] = []
    removing_replicas: Array[Int32] = []


@struct
class OngoingTopicReassignment:
    name: String = ""
    partitions: Array[OngoingPartitionReassignment] = []


@message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    """Moves in progress, with the replicas that come and go."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    topics: Array[OngoingTopicReassignment] = []
