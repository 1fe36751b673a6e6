"""ConsumerGroupHeartbeat, API 68."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    """A member of a consumer group says what it subscribes to and what it owns.

    The broker balances the group.
    """

    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    instance_id: NullableString = None
    rack_id: NullableString = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: NullableArray[String] = None
    subscribed_topic_regex: NullableString = field(since=1, default=None)
    server_assignor: NullableString = None
    topic_partitions: NullableArray[TopicPartitions] = None


@struct
class Assignment:
    topic_partitions: Array[TopicPartitions] = []


@message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, when to call again, and its assignment where that changed."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    member_id: NullableString = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
