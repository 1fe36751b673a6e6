"""OffsetForLeaderEpoch, API 23."""

from klamm.protocol.declare import Array, Int16, Int32, Int64, String, field, message, struct


@struct
class OffsetForLeaderPartition:
    partition: Int32 = 0
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32 = 0


@struct
class OffsetForLeaderTopic:
    topic: String = ""
    partitions: Array[OffsetForLeaderPartition] = []


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    """Ask where a leader epoch ended, to find the point at which two logs diverge."""

    replica_id: Int32 = field(since=3, default=-2)
    topics: Array[OffsetForLeaderTopic] = []


@struct
class EpochEndOffset:
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class OffsetForLeaderTopicResult:
    topic: String = ""
    partitions: Array[EpochEndOffset] = []


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse:
    """For each partition the epoch found and its end offset."""

    throttle_time_ms: Int32 = 0
    topics: Array[OffsetForLeaderTopicResult] = []
