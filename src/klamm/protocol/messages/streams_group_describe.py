"""StreamsGroupDescribe, API 89."""

from klamm.protocol.declare import (
    Array,
    Bool,
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


@message(api_key=89, versions="0", flexible="0+")
class StreamsGroupDescribeRequest:
    """Ask for the state, topology and members of streams groups."""

    group_ids: Array[String] = []
    include_authorized_operations: Bool = False


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
class Subtopology:
    subtopology_id: String = ""
    source_topics: Array[String] = []
    repartition_sink_topics: Array[String] = []
    state_changelog_topics: Array[TopicInfo] = []
    repartition_source_topics: Array[TopicInfo] = []


@struct
class Topology:
    epoch: Int32 = 0
    subtopologies: NullableArray[Subtopology] = None


@struct
class Endpoint:
    host: String = ""
    port: UInt16 = 0


@struct
class TaskOffset:
    subtopology_id: String = ""
    partition: Int32 = 0
    offset: Int64 = 0


@struct
class TaskIds:
    subtopology_id: String = ""
    partitions: Array[Int32] = []


@struct
class Assignment:
    active_tasks: Array[TaskIds] = []
    standby_tasks: Array[TaskIds] = []
    warmup_tasks: Array[TaskIds] = []


@struct
class Member:
    member_id: String = ""
    member_epoch: Int32 = 0
    instance_id: NullableString = None
    rack_id: NullableString = None
    client_id: String = ""
    client_host: String = ""
    topology_epoch: Int32 = 0
    process_id: String = ""
    user_endpoint: Endpoint | None = None
    client_tags: Array[KeyValue] = []
    task_offsets: Array[TaskOffset] = []
    task_end_offsets: Array[TaskOffset] = []
    assignment: Assignment = field(factory=Assignment)
    target_assignment: Assignment = field(factory=Assignment)
    is_classic: Bool = False


@struct
class DescribedGroup:
    error_code: Int16 = 0
    error_message: NullableString = None
    group_id: String = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    topology: Topology | None = None
    members: Array[Member] = []
    authorized_operations: Int32 = -0x80000000


@message(api_key=89, versions="0", flexible="0+")
class StreamsGroupDescribeResponse:
    """State, topology, members and tasks of each group."""

    throttle_time_ms: Int32 = 0
    groups: Array[DescribedGroup] = []
