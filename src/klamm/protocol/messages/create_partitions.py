"""CreatePartitions, API 37."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@struct
class CreatePartitionsAssignment:
    broker_ids: Array[Int32] = []


@struct
class CreatePartitionsTopic:
    name: String = ""
    count: Int32 = 0
    assignments: NullableArray[CreatePartitionsAssignment] = []


@message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    """Raise the number of partitions of topics, with optional placement."""

    topics: Array[CreatePartitionsTopic] = []
    timeout_ms: Int32 = 0
    validate_only: Bool = False


@struct
class CreatePartitionsTopicResult:
    name: String = ""
    error_code: Int16 = 0
    error_message: NullableString = None


@message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    """The outcome for each topic."""

    throttle_time_ms: Int32 = 0
    results: Array[CreatePartitionsTopicResult] = []
