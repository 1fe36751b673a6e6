"""ReadShareGroupState, API 84."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    message,
    struct,
)


@struct
class PartitionData:
    partition: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class ReadStateData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@message(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest:
    """Read the stored state of share partitions."""

    group_id: String = ""
    topics: Array[ReadStateData] = []


@struct
class StateBatch:
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@struct
class PartitionResult:
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    state_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: Array[StateBatch] = []


@struct
class ReadStateResult:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionResult] = []


@message(api_key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse:
    """The stored state of each share partition."""

    results: Array[ReadStateResult] = []
