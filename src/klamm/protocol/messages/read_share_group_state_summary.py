"""ReadShareGroupStateSummary, API 87."""

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
class PartitionData:
    partition: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class ReadStateSummaryData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest:
    """Read only the start offsets and epochs of share partitions."""

    group_id: String = ""
    topics: Array[ReadStateSummaryData] = []


@struct
class PartitionResult:
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = field(since=1, default=-1)


@struct
class ReadStateSummaryResult:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionResult] = []


@message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse:
    """A summary of the stored state of each share partition."""

    results: Array[ReadStateSummaryResult] = []
