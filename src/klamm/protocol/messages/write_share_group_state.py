"""WriteShareGroupState, API 85."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int8,
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
class StateBatch:
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@struct
class PartitionData:
    partition: Int32 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = field(since=1, default=-1)
    state_batches: Array[StateBatch] = []


@struct
class WriteStateData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest:
    """Store what changed in share partitions."""

    group_id: String = ""
    topics: Array[WriteStateData] = []


@struct
class PartitionResult:
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


@struct
class WriteStateResult:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionResult] = []


@message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse:
    """The outcome for each share partition."""

    results: Array[WriteStateResult] = []
