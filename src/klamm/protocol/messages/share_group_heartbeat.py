"""ShareGroupHeartbeat, API 76."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@message(api_key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatRequest:
    """A member of a share group says that it lives and what it subscribes to."""

    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    rack_id: NullableString = None
    subscribed_topic_names: NullableArray[String] = None


@struct
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@struct
class Assignment:
    topic_partitions: Array[TopicPartitions] = []


@message(api_key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatResponse:
    """The member's epoch, when to call again, and its assignment where that changed."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    member_id: NullableString = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
