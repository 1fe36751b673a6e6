"""StreamsGroupHeartbeat, API 88."""

from klamm.protocol.declare import (
    Array,
    Bool,
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


@struct
class KeyValue:
    key: String = ""
    value: String = ""


@struct
class TopicInfo:
    name: String = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: Array[KeyValue] = []


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


@struct
class Topology:
    epoch: Int32 = 0
    subtopologies: Array[Subtopology] = []


@struct
class TaskIds:
    subtopology_id: String = ""
    partitions: Array[Int32] = []


@struct
class Endpoint:
    host: String = ""
    port: UInt16 = 0


@struct
class TaskOffset:
    subtopology_id: String = ""
    partition: Int32 = 0
    offset: Int64 = 0


@message(api_key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest:
    """A member of a streams group says that it lives, what it runs and which tasks it owns."""

    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    endpoint_information_epoch: Int32 = 0
    instance_id: NullableString = None
    rack_id: NullableString = None
    rebalance_timeout_ms: Int32 = -1
    topology: Topology | None = None
    active_tasks: NullableArray[TaskIds] = None
    standby_tasks: NullableArray[TaskIds] = None
    warmup_tasks: NullableArray[TaskIds] = None
    process_id: NullableString = None
    user_endpoint: Endpoint | None = None
    client_tags: NullableArray[KeyValue] = None
    task_offsets: NullableArray[TaskOffset] = None
    task_end_offsets: NullableArray[TaskOffset] = None
    shutdown_application: Bool = False


@struct
class Status:
    status_code: Int8 = 0
    status_detail: String = ""


@struct
class TopicPartition:
    topic: String = ""
    partitions: Array[Int32] = []


@struct
class EndpointToPartitions:
    user_endpoint: Endpoint = field(factory=Endpoint)
    active_partitions: Array[TopicPartition] = []
    standby_partitions: Array[TopicPartition] = []


@message(api_key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse:
    """The member's epoch, when to call again, and its tasks where they changed."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    member_id: String = ""
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    acceptable_recovery_lag: Int32 = 0
    task_offset_interval_ms: Int32 = 0
    status: NullableArray[Status] = []
    active_tasks: NullableArray[TaskIds] = None
    standby_tasks: NullableArray[TaskIds] = None
    warmup_tasks: NullableArray[TaskIds] = None
    endpoint_information_epoch: Int32 = 0
    partitions_by_user_endpoint: NullableArray[EndpointToPartitions] = None
