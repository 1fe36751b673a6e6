"""What consumers of a classic group say to each other. The broker passes it on and seldom looks."""

from klamm.protocol.declare import (
    Array,
    Int32,
    NullableBytes,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class ConsumerProtocolSubscriptionTopicPartition:
    topic: String = ""
    partitions: Array[Int32] = []


@message(versions="0-3")
class ConsumerProtocolSubscription:
    """What a consumer tells the leader of its classic group: topics, owned partitions, rack."""

    topics: Array[String] = []
    user_data: NullableBytes = None
    owned_partitions: Array[ConsumerProtocolSubscriptionTopicPartition] = field(since=1, default=[])
    generation_id: Int32 = field(since=2, default=-1)
    rack_id: NullableString = field(since=3, default=None)


@struct
class ConsumerProtocolAssignmentTopicPartition:
    topic: String = ""
    partitions: Array[Int32] = []


@message(versions="0-3")
class ConsumerProtocolAssignment:
    """What the leader of a classic group gives to one consumer."""

    assigned_partitions: Array[ConsumerProtocolAssignmentTopicPartition] = []
    user_data: NullableBytes = None
