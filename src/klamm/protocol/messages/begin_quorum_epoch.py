"""BeginQuorumEpoch, API 53."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class BeginQuorumEpochRequestPartitionData:
    partition_index: Int32 = 0
    voter_directory_id: Uuid = field(since=1, default=ZERO_UUID)
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class BeginQuorumEpochRequestTopicData:
    topic_name: String = ""
    partitions: Array[BeginQuorumEpochRequestPartitionData] = []


@struct
class LeaderEndpoint:
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest:
    """A new quorum leader makes itself known to voters that have not found it yet."""

    cluster_id: NullableString = None
    voter_id: Int32 = field(since=1, default=-1)
    topics: Array[BeginQuorumEpochRequestTopicData] = []
    leader_endpoints: Array[LeaderEndpoint] = field(since=1, default=[])


@struct
class BeginQuorumEpochResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class BeginQuorumEpochResponseTopicData:
    topic_name: String = ""
    partitions: Array[BeginQuorumEpochResponsePartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: UInt16 = 0


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse:
    """Whether the voter accepts the leader and its epoch."""

    error_code: Int16 = 0
    topics: Array[BeginQuorumEpochResponseTopicData] = []
    node_endpoints: Array[NodeEndpoint] = field(since=1, tag=0, default=[])
