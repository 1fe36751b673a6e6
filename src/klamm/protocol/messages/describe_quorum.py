"""DescribeQuorum, API 55."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class DescribeQuorumRequestPartitionData:
    partition_index: Int32 = 0


@struct
class DescribeQuorumRequestTopicData:
    topic_name: String = ""
    partitions: Array[DescribeQuorumRequestPartitionData] = []


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """Ask for the state of the metadata quorum."""

    topics: Array[DescribeQuorumRequestTopicData] = []


@struct
class ReplicaState:
    replica_id: Int32 = 0
    replica_directory_id: Uuid = field(since=2, default=ZERO_UUID)
    log_end_offset: Int64 = 0
    last_fetch_timestamp: Int64 = field(since=1, default=-1)
    last_caught_up_timestamp: Int64 = field(since=1, default=-1)


@struct
class DescribeQuorumResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = field(since=2, default="")
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    high_watermark: Int64 = 0
    current_voters: Array[ReplicaState] = []
    observers: Array[ReplicaState] = []


@struct
class DescribeQuorumResponseTopicData:
    topic_name: String = ""
    partitions: Array[DescribeQuorumResponsePartitionData] = []


@struct
class Listener:
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@struct
class Node:
    node_id: Int32 = 0
    listeners: Array[Listener] = []


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    """Leader, epoch, high watermark and how far each voter and observer has come."""

    error_code: Int16 = 0
    error_message: NullableString = field(since=2, default="")
    topics: Array[DescribeQuorumResponseTopicData] = []
    nodes: Array[Node] = field(since=2, default=[])
