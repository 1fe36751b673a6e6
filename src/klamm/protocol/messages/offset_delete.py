"""OffsetDelete, API 47."""

from klamm.protocol.declare import Array, Int16, Int32, String, message, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: Int32 = 0


@struct
class OffsetDeleteRequestTopic:
    name: String = ""
    partitions: Array[OffsetDeleteRequestPartition] = []


@message(api_key=47, versions="0")
class OffsetDeleteRequest:
    """Forget committed offsets of a group."""

    group_id: String = ""
    topics: Array[OffsetDeleteRequestTopic] = []


@struct
class OffsetDeleteResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetDeleteResponseTopic:
    name: String = ""
    partitions: Array[OffsetDeleteResponsePartition] = []


@message(api_key=47, versions="0")
class OffsetDeleteResponse:
    """The outcome for each partition."""

    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: Array[OffsetDeleteResponseTopic] = []
