"""ListOffsets, API 2."""

from klamm.protocol.declare import Array, Int8, Int16, Int32, Int64, String, field, message, struct


@struct
class ListOffsetsPartition:
    partition_index: Int32 = 0
    current_leader_epoch: Int32 = field(since=4, default=-1)
    timestamp: Int64 = 0


@struct
class ListOffsetsTopic:
    name: String = ""
    partitions: Array[ListOffsetsPartition] = []


@message(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest:
    """Ask for the offset of a point in time.

    Negative timestamps name special points: earliest, latest and so on.
    """

    replica_id: Int32 = 0
    isolation_level: Int8 = field(since=2, default=0)
    topics: Array[ListOffsetsTopic] = []
    timeout_ms: Int32 = field(since=10, default=0)


@struct
class ListOffsetsPartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Int32 = field(since=4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: String = ""
    partitions: Array[ListOffsetsPartitionResponse] = []


@message(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsResponse:
    """The offset and timestamp found for each partition; -1 where there is none."""

    throttle_time_ms: Int32 = field(since=2, default=0)
    topics: Array[ListOffsetsTopicResponse] = []
