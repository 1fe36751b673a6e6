"""AlterShareGroupOffsets, API 91."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    message,
    struct,
)


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: Int32 = 0
    start_offset: Int64 = 0


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: String = ""
    partitions: Array[AlterShareGroupOffsetsRequestPartition] = []


@message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest:
    """Move the start offsets of a share group that has no members."""

    group_id: String = ""
    topics: Array[AlterShareGroupOffsetsRequestTopic] = []


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AlterShareGroupOffsetsResponsePartition] = []


@message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse:
    """The outcome for each partition."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    responses: Array[AlterShareGroupOffsetsResponseTopic] = []
