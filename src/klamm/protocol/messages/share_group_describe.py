"""ShareGroupDescribe, API 77."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=77, versions="1", flexible="0+")
class ShareGroupDescribeRequest:
    """Ask for the state and members of share groups."""

    group_ids: Array[String] = []
    include_authorized_operations: Bool = False


@struct
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: Array[Int32] = []


@struct
class Assignment:
    topic_partitions: Array[TopicPartitions] = []


@struct
class Member:
    member_id: String = ""
    rack_id: NullableString = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: Array[String] = []
    assignment: Assignment = field(factory=Assignment)


@struct
class DescribedGroup:
    error_code: Int16 = 0
    error_message: NullableString = None
    group_id: String = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: String = ""
    members: Array[Member] = []
    authorized_operations: Int32 = -0x80000000


@message(api_key=77, versions="1", flexible="0+")
class ShareGroupDescribeResponse:
    """State, epochs, members and assignments of each group."""

    throttle_time_ms: Int32 = 0
    groups: Array[DescribedGroup] = []
