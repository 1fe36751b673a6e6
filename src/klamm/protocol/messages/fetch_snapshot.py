"""FetchSnapshot, API 59."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableString,
    Records,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class SnapshotId:
    end_offset: Int64 = 0
    epoch: Int32 = 0


@struct
class FetchSnapshotRequestPartitionSnapshot:
    partition: Int32 = 0
    current_leader_epoch: Int32 = 0
    snapshot_id: SnapshotId = field(factory=SnapshotId)
    position: Int64 = 0
    replica_directory_id: Uuid = field(since=1, tag=0, default=ZERO_UUID)


@struct
class FetchSnapshotRequestTopicSnapshot:
    name: String = ""
    partitions: Array[FetchSnapshotRequestPartitionSnapshot] = []


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest:
    """Read a piece of a metadata snapshot."""

    cluster_id: NullableString = field(tag=0, default=None)
    replica_id: Int32 = -1
    max_bytes: Int32 = 0x7FFFFFFF
    topics: Array[FetchSnapshotRequestTopicSnapshot] = []


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class FetchSnapshotResponsePartitionSnapshot:
    index: Int32 = 0
    error_code: Int16 = 0
    snapshot_id: SnapshotId = field(factory=SnapshotId)
    current_leader: LeaderIdAndEpoch = field(tag=0, factory=LeaderIdAndEpoch)
    size: Int64 = 0
    position: Int64 = 0
    unaligned_records: Records = b""


@struct
class FetchSnapshotResponseTopicSnapshot:
    name: String = ""
    partitions: Array[FetchSnapshotResponsePartitionSnapshot] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: UInt16 = 0


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse:
    """A piece of the snapshot, its whole size and its id."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: Array[FetchSnapshotResponseTopicSnapshot] = []
    node_endpoints: Array[NodeEndpoint] = field(since=1, tag=0, default=[])
