"""Share groups (KIP-932), as they stand in __consumer_offsets."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int8,
    Int32,
    Int64,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=10, versions="0")
class ShareGroupMemberMetadataKey:
    """Key of a member of a share group."""

    group_id: String = ""
    member_id: String = ""


@message(api_key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue:
    """A member of a share group and its subscription."""

    rack_id: NullableString = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: Array[String] = []


@message(api_key=11, versions="0")
class ShareGroupMetadataKey:
    """Key of a share group."""

    group_id: String = ""


@message(api_key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue:
    """The epoch of a share group and a hash of what its topics look like."""

    epoch: Int32 = 0
    metadata_hash: Int64 = 0


@message(api_key=12, versions="0")
class ShareGroupTargetAssignmentMetadataKey:
    """Key of the target assignment of a share group."""

    group_id: String = ""


@message(api_key=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue:
    """The epoch for which the target assignment was computed."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Int64 = field(tag=0, default=0)


@message(api_key=13, versions="0")
class ShareGroupTargetAssignmentMemberKey:
    """Key of one member's target assignment."""

    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartition:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@message(api_key=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that a member is to read from."""

    topic_partitions: Array[TopicPartition] = []


@message(api_key=14, versions="0")
class ShareGroupCurrentMemberAssignmentKey:
    """Key of what a member reads from now."""

    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@message(api_key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions that a member reads from now."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: Array[TopicPartitions] = []


@message(api_key=15, versions="0")
class ShareGroupStatePartitionMetadataKey:
    """Key of the share partitions that a group has."""

    group_id: String = ""


@struct
class TopicPartitionsInfo:
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: Array[Int32] = []


@struct
class TopicInfo:
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""


@message(api_key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    """The share partitions that a group has set up, is setting up and is deleting."""

    initializing_topics: Array[TopicPartitionsInfo] = []
    initialized_topics: Array[TopicPartitionsInfo] = []
    deleting_topics: Array[TopicInfo] = []
