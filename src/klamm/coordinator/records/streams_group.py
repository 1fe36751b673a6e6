"""Streams groups (KIP-1071), as they stand in __consumer_offsets."""

from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableArray,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@message(api_key=17, versions="0")
class StreamsGroupMetadataKey:
    """Key of a streams group."""

    group_id: String = ""


@struct
class LastAssignmentConfig:
    key: String = ""
    value: String = ""


@message(api_key=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue:
    """The epoch of a streams group and what its last assignment was based on."""

    epoch: Int32 = 0
    metadata_hash: Int64 = 0
    validated_topology_epoch: Int32 = field(tag=0, default=-1)
    last_assignment_configs: NullableArray[LastAssignmentConfig] = field(tag=1, default=[])


@message(api_key=19, versions="0")
class StreamsGroupMemberMetadataKey:
    """Key of a member of a streams group."""

    group_id: String = ""
    member_id: String = ""


@struct
class Endpoint:
    host: String = ""
    port: UInt16 = 0


@struct
class KeyValue:
    key: String = ""
    value: String = ""


@message(api_key=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue:
    """A member of a streams group, its process and its tags."""

    instance_id: NullableString = ""
    rack_id: NullableString = ""
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout_ms: Int32 = -1
    topology_epoch: Int32 = 0
    process_id: String = ""
    user_endpoint: Endpoint | None = None
    client_tags: Array[KeyValue] = []


@message(api_key=20, versions="0")
class StreamsGroupTargetAssignmentMetadataKey:
    """Key of the target assignment of a streams group."""

    group_id: String = ""


@message(api_key=20, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue:
    """The epoch for which the target assignment was computed."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Int64 = field(tag=0, default=0)


@message(api_key=21, versions="0")
class StreamsGroupTargetAssignmentMemberKey:
    """Key of one member's target assignment."""

    group_id: String = ""
    member_id: String = ""


@struct
class StreamsGroupTargetAssignmentMemberValueTaskIds:
    subtopology_id: String = ""
    partitions: Array[Int32] = []


@message(api_key=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks that a member is to run in the end."""

    active_tasks: Array[StreamsGroupTargetAssignmentMemberValueTaskIds] = []
    standby_tasks: Array[StreamsGroupTargetAssignmentMemberValueTaskIds] = []
    warmup_tasks: Array[StreamsGroupTargetAssignmentMemberValueTaskIds] = []


@message(api_key=22, versions="0")
class StreamsGroupCurrentMemberAssignmentKey:
    """Key of what a member runs now."""

    group_id: String = ""
    member_id: String = ""


@struct
class StreamsGroupCurrentMemberAssignmentValueTaskIds:
    subtopology_id: String = ""
    partitions: Array[Int32] = []
    assignment_epochs: NullableArray[Int32] = field(tag=0, default=[])


@message(api_key=22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks that a member runs now and those that it must give up first."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    active_tasks: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    standby_tasks: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    warmup_tasks: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    active_tasks_pending_revocation: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    standby_tasks_pending_revocation: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []
    warmup_tasks_pending_revocation: Array[StreamsGroupCurrentMemberAssignmentValueTaskIds] = []


@message(api_key=23, versions="0")
class StreamsGroupTopologyKey:
    """Key of the topology of a streams group."""

    group_id: String = ""


@struct
class TopicConfig:
    key: String = ""
    value: String = ""


@struct
class TopicInfo:
    name: String = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: Array[TopicConfig] = []


@struct
class CopartitionGroup:
    source_topics: Array[Int16] = []
    source_topic_regex: Array[Int16] = []
    repartition_source_topics: Array[Int16] = []


@struct
class Subtopology:
    subtopology_id: String = ""
    source_topics: Array[String] = []
    source_topic_regex: Array[String] = []
    state_changelog_topics: Array[TopicInfo] = []
    repartition_sink_topics: Array[String] = []
    repartition_source_topics: Array[TopicInfo] = []
    copartition_groups: Array[CopartitionGroup] = []


@message(api_key=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue:
    """The topology of a streams group: its parts with their source, sink and internal topics."""

    epoch: Int32 = 0
    subtopologies: Array[Subtopology] = []
