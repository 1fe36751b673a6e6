"""DescribeShareGroupOffsets, API 90."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
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
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: String = ""
    partitions: Array[Int32] = []


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: String = ""
    topics: NullableArray[DescribeShareGroupOffsetsRequestTopic] = []


@message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest:
    """Ask where share groups begin to read."""

    groups: Array[DescribeShareGroupOffsetsRequestGroup] = []


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: Int32 = 0
    start_offset: Int64 = 0
    leader_epoch: Int32 = 0
    lag: Int64 = field(since=1, default=-1)
    error_code: Int16 = 0
    error_message: NullableString = None


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    partitions: Array[DescribeShareGroupOffsetsResponsePartition] = []


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: String = ""
    topics: Array[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: Int16 = 0
    error_message: NullableString = None


@message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse:
    """Start offsets per group and partition."""

    throttle_time_ms: Int32 = 0
    groups: Array[DescribeShareGroupOffsetsResponseGroup] = []
