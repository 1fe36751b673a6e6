"""EndQuorumEpoch, API 54."""

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
class ReplicaInfo:
    candidate_id: Int32 = 0
    candidate_directory_id: Uuid = ZERO_UUID


@struct
class EndQuorumEpochRequestPartitionData:
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    preferred_successors: Array[Int32] = field(until=0, default=[])
    preferred_candidates: Array[ReplicaInfo] = field(since=1, default=[])


@struct
class EndQuorumEpochRequestTopicData:
    topic_name: String = ""
    partitions: Array[EndQuorumEpochRequestPartitionData] = []


@struct
class LeaderEndpoint:
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest:
    """A quorum leader that goes away tells the others whom to prefer next."""

    cluster_id: NullableString = None
    topics: Array[EndQuorumEpochRequestTopicData] = []
    leader_endpoints: Array[LeaderEndpoint] = field(since=1, default=[])


@struct
class EndQuorumEpochResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class EndQuorumEpochResponseTopicData:
    topic_name: String = ""
    partitions: Array[EndQuorumEpochResponsePartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: UInt16 = 0


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse:
    """Whether the voter heard it in the epoch meant."""

    error_code: Int16 = 0
    topics: Array[EndQuorumEpochResponseTopicData] = []
    node_endpoints: Array[NodeEndpoint] = field(since=1, tag=0, default=[])
