"""DescribeTopicPartitions, API 75."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@struct
class TopicRequest:
    name: String = ""


@struct
class Cursor:
    topic_name: String = ""
    partition_index: Int32 = 0


@message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    """Ask for the partitions of topics page by page, with eligible leader replicas."""

    topics: Array[TopicRequest] = []
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: Array[Int32] = []
    isr_nodes: Array[Int32] = []
    eligible_leader_replicas: NullableArray[Int32] = None
    last_known_elr: NullableArray[Int32] = None
    offline_replicas: Array[Int32] = []


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: Int16 = 0
    name: NullableString = ""
    topic_id: Uuid = ZERO_UUID
    is_internal: Bool = False
    partitions: Array[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: Int32 = -0x80000000


@message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse:
    """One page of topics and partitions, and a cursor where there is more."""

    throttle_time_ms: Int32 = 0
    topics: Array[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None
