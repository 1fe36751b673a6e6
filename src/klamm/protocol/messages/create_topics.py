"""CreateTopics, API 19."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
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
class CreatableReplicaAssignment:
    partition_index: Int32 = 0
    broker_ids: Array[Int32] = []


@struct
class CreatableTopicConfig:
    name: String = ""
    value: NullableString = ""


@struct
class CreatableTopic:
    name: String = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: Array[CreatableReplicaAssignment] = []
    configs: Array[CreatableTopicConfig] = []


@message(api_key=19, versions="2-7", flexible="5+")
class CreateTopicsRequest:
    """Create topics, by partition count or with every replica placed by hand."""

    topics: Array[CreatableTopic] = []
    timeout_ms: Int32 = 60_000
    validate_only: Bool = False


@struct
class CreatableTopicConfigs:
    name: String = ""
    value: NullableString = ""
    read_only: Bool = False
    config_source: Int8 = -1
    is_sensitive: Bool = False


@struct
class CreatableTopicResult:
    name: String = ""
    topic_id: Uuid = field(since=7, default=ZERO_UUID)
    error_code: Int16 = 0
    error_message: NullableString = ""
    topic_config_error_code: Int16 = field(since=5, tag=0, default=0)
    num_partitions: Int32 = field(since=5, default=-1)
    replication_factor: Int16 = field(since=5, default=-1)
    configs: NullableArray[CreatableTopicConfigs] = field(since=5, default=[])


@message(api_key=19, versions="2-7", flexible="5+")
class CreateTopicsResponse:
    """The outcome for each topic, with the settings it came to have."""

    throttle_time_ms: Int32 = 0
    topics: Array[CreatableTopicResult] = []
