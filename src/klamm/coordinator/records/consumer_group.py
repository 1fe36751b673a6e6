"""Consumer groups (KIP-848), as they stand in __consumer_offsets."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bytes,
    Int8,
    Int32,
    Int64,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=3, versions="0")
class ConsumerGroupMetadataKey:
    """Key of a consumer group."""

    group_id: String = ""


@message(api_key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    """The epoch of a consumer group and a hash of what its topics look like."""

    epoch: Int32 = 0
    metadata_hash: Int64 = field(tag=0, default=0)


@message(api_key=4, versions="0")
class ConsumerGroupPartitionMetadataKey:
    """Key of the topics that a consumer group sees. No longer written since 4.1."""

    group_id: String = ""


@struct
class PartitionMetadata:
    partition: Int32 = 0
    racks: Array[String] = []


@struct
class TopicMetadata:
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    num_partitions: Int32 = 0
    partition_metadata: Array[PartitionMetadata] = []


@message(api_key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """The topics that a consumer group sees. No longer written since 4.1."""

    topics: Array[TopicMetadata] = []


@message(api_key=5, versions="0")
class ConsumerGroupMemberMetadataKey:
    """Key of a member of a consumer group."""

    group_id: String = ""
    member_id: String = ""


@struct
class ClassicProtocol:
    name: String = ""
    metadata: Bytes = b""


@struct
class ClassicMemberMetadata:
    session_timeout_ms: Int32 = 0
    supported_protocols: Array[ClassicProtocol] = []


@message(api_key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """A member of a consumer group and its subscription."""

    instance_id: NullableString = ""
    rack_id: NullableString = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: Array[String] = []
    subscribed_topic_regex: NullableString = ""
    rebalance_timeout_ms: Int32 = -1
    server_assignor: NullableString = ""
    classic_member_metadata: ClassicMemberMetadata | None = field(
        tag=0, factory=ClassicMemberMetadata
    )


@message(api_key=6, versions="0")
class ConsumerGroupTargetAssignmentMetadataKey:
    """Key of the target assignment of a consumer group."""

    group_id: String = ""


@message(api_key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """The epoch for which the target assignment was computed."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Int64 = field(tag=0, default=0)


@message(api_key=7, versions="0")
class ConsumerGroupTargetAssignmentMemberKey:
    """Key of one member's target assignment."""

    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartition:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@message(api_key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """The partitions that a member is to own in the end."""

    topic_partitions: Array[TopicPartition] = []


@message(api_key=8, versions="0")
class ConsumerGroupCurrentMemberAssignmentKey:
    """Key of what a member owns now."""

    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []
    assignment_epochs: NullableArray[Int32] = field(tag=0, default=[])


@message(api_key=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """The partitions that a member owns now and those that it must give up first."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: Array[TopicPartitions] = []
    partitions_pending_revocation: Array[TopicPartitions] = []


@message(api_key=16, versions="0")
class ConsumerGroupRegularExpressionKey:
    """Key of a regular expression that members of a group subscribe to."""

    group_id: String = ""
    regular_expression: String = ""


@message(api_key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue:
    """The topics that a regular expression matched when it was last looked up."""

    topics: Array[String] = []
    version: Int64 = 0
    timestamp: Int64 = 0
