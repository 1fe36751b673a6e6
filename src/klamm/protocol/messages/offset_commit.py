"""OffsetCommit, API 8."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class OffsetCommitRequestPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = field(since=6, default=-1)
    committed_metadata: NullableString = ""


@struct
class OffsetCommitRequestTopic:
    name: String = field(until=9, default="")
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    partitions: Array[OffsetCommitRequestPartition] = []


@message(api_key=8, versions="2-10", flexible="8+")
class OffsetCommitRequest:
    """Store how far a group has read, on its own or as a member of a generation."""

    group_id: String = ""
    generation_id_or_member_epoch: Int32 = -1
    member_id: String = ""
    group_instance_id: NullableString = field(since=7, default=None)
    retention_time_ms: Int64 = field(until=4, default=-1)
    topics: Array[OffsetCommitRequestTopic] = []


@struct
class OffsetCommitResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetCommitResponseTopic:
    name: String = field(until=9, default="")
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    partitions: Array[OffsetCommitResponsePartition] = []


@message(api_key=8, versions="2-10", flexible="8+")
class OffsetCommitResponse:
    """The outcome of the commit for each partition."""

    throttle_time_ms: Int32 = field(since=3, default=0)
    topics: Array[OffsetCommitResponseTopic] = []
