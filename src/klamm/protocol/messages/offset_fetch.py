"""OffsetFetch, API 9."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    Int64,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class OffsetFetchRequestTopic:
    name: String = ""
    partition_indexes: Array[Int32] = []


@struct
class OffsetFetchRequestTopics:
    name: String = field(until=9, default="")
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    partition_indexes: Array[Int32] = []


@struct
class OffsetFetchRequestGroup:
    group_id: String = ""
    member_id: NullableString = field(since=9, default=None)
    member_epoch: Int32 = field(since=9, default=-1)
    topics: NullableArray[OffsetFetchRequestTopics] = []


@message(api_key=9, versions="1-10", flexible="6+")
class OffsetFetchRequest:
    """Ask how far groups have read."""

    group_id: String = field(until=7, default="")
    topics: NullableArray[OffsetFetchRequestTopic] = field(until=7, nullable_since=2, default=[])
    groups: Array[OffsetFetchRequestGroup] = field(since=8, default=[])
    require_stable: Bool = field(since=7, default=False)


@struct
class OffsetFetchResponsePartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = field(since=5, default=-1)
    metadata: NullableString = ""
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopic:
    name: String = ""
    partitions: Array[OffsetFetchResponsePartition] = []


@struct
class OffsetFetchResponsePartitions:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: NullableString = ""
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopics:
    name: String = field(until=9, default="")
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    partitions: Array[OffsetFetchResponsePartitions] = []


@struct
class OffsetFetchResponseGroup:
    group_id: String = ""
    topics: Array[OffsetFetchResponseTopics] = []
    error_code: Int16 = 0


@message(api_key=9, versions="1-10", flexible="6+")
class OffsetFetchResponse:
    """Committed offsets and metadata per group and partition; -1 where nothing was committed."""

    throttle_time_ms: Int32 = field(since=3, default=0)
    topics: Array[OffsetFetchResponseTopic] = field(until=7, default=[])
    error_code: Int16 = field(since=2, until=7, default=0)
    groups: Array[OffsetFetchResponseGroup] = field(since=8, default=[])
