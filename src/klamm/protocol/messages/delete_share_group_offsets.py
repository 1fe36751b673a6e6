"""DeleteShareGroupOffsets, API 92."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int16, Int32, NullableString, String, message, struct


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: String = ""


@message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    """Forget the start offsets of a share group for some topics."""

    group_id: String = ""
    topics: Array[DeleteShareGroupOffsetsRequestTopic] = []


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    error_code: Int16 = 0
    error_message: NullableString = None


@message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse:
    """The outcome for each topic."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    responses: Array[DeleteShareGroupOffsetsResponseTopic] = []
