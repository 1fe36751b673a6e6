"""Fetch, API 1."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableArray,
    NullableRecords,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class ReplicaState:
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@struct
class FetchPartition:
    partition: Int32 = 0
    current_leader_epoch: Int32 = field(since=9, default=-1)
    fetch_offset: Int64 = 0
    last_fetched_epoch: Int32 = field(since=12, default=-1)
    log_start_offset: Int64 = field(since=5, default=-1)
    partition_max_bytes: Int32 = 0
    replica_directory_id: Uuid = field(since=17, tag=0, default=ZERO_UUID)
    high_watermark: Int64 = field(since=18, tag=1, default=0x7FFFFFFFFFFFFFFF)


@struct
class FetchTopic:
    topic: String = field(until=12, default="")
    topic_id: Uuid = field(since=13, default=ZERO_UUID)
    partitions: Array[FetchPartition] = []


@struct
class ForgottenTopic:
    topic: String = field(until=12, default="")
    topic_id: Uuid = field(since=13, default=ZERO_UUID)
    partitions: Array[Int32] = []


@message(api_key=1, versions="4-18", flexible="12+")
class FetchRequest:
    """Read record batches from partitions, for a consumer or for a follower replica.

    A session lets later requests name only what changed.
    """

    cluster_id: NullableString = field(since=12, tag=0, default=None)
    replica_id: Int32 = field(until=14, default=-1)
    replica_state: ReplicaState = field(since=15, tag=1, factory=ReplicaState)
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 0x7FFFFFFF
    isolation_level: Int8 = 0
    session_id: Int32 = field(since=7, default=0)
    session_epoch: Int32 = field(since=7, default=-1)
    topics: Array[FetchTopic] = []
    forgotten_topics_data: Array[ForgottenTopic] = field(since=7, default=[])
    rack_id: String = field(since=11, default="")


@struct
class EpochEndOffset:
    epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class SnapshotId:
    end_offset: Int64 = -1
    epoch: Int32 = -1


@struct
class AbortedTransaction:
    producer_id: Int64 = 0
    first_offset: Int64 = 0


@struct
class PartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Int64 = -1
    log_start_offset: Int64 = field(since=5, default=-1)
    diverging_epoch: EpochEndOffset = field(since=12, tag=0, factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = field(since=12, tag=1, factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = field(since=12, tag=2, factory=SnapshotId)
    aborted_transactions: NullableArray[AbortedTransaction] = []
    preferred_read_replica: Int32 = field(since=11, default=-1)
    records: NullableRecords = b""


@struct
class FetchableTopicResponse:
    topic: String = field(until=12, default="")
    topic_id: Uuid = field(since=13, default=ZERO_UUID)
    partitions: Array[PartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


@message(api_key=1, versions="4-18", flexible="12+")
class FetchResponse:
    """Record batches per partition with the watermarks that tell a reader how far it may go."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = field(since=7, default=0)
    session_id: Int32 = field(since=7, default=0)
    responses: Array[FetchableTopicResponse] = []
    node_endpoints: Array[NodeEndpoint] = field(since=16, tag=0, default=[])
