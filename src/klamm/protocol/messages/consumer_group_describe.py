"""ConsumerGroupDescribe, API 69."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest:
    """Ask for the state and members of consumer groups."""

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
    instance_id: NullableString = None
    rack_id: NullableString = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: Array[String] = []
    subscribed_topic_regex: NullableString = None
    assignment: Assignment = field(factory=Assignment)
    target_assignment: Assignment = field(factory=Assignment)
    member_type: Int8 = field(since=1, default=-1)


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


@message(api_key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse:
    """State, epochs, members and assignments of each group."""

    throttle_time_ms: Int32 = 0
    groups: Array[DescribedGroup] = []
