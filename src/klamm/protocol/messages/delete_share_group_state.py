"""DeleteShareGroupState, API 86."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int16, Int32, NullableString, String, message, struct


@struct
class PartitionData:
    partition: Int32 = 0


@struct
class DeleteStateData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    """Drop the stored state of share partitions."""

    group_id: String = ""
    topics: Array[DeleteStateData] = []


@struct
class PartitionResult:
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


@struct
class DeleteStateResult:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionResult] = []


@message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse:
    """The outcome for each share partition."""

    results: Array[DeleteStateResult] = []
