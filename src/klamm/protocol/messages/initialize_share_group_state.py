"""InitializeShareGroupState, API 83."""

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
class PartitionData:
    partition: Int32 = 0
    state_epoch: Int32 = 0
    start_offset: Int64 = 0


@struct
class InitializeStateData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@message(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest:
    """Set up the stored state of share partitions."""

    group_id: String = ""
    topics: Array[InitializeStateData] = []


@struct
class PartitionResult:
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


@struct
class InitializeStateResult:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionResult] = []


@message(api_key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse:
    """The outcome for each share partition."""

    results: Array[InitializeStateResult] = []
