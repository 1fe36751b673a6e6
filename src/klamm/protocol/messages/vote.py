"""Vote, API 52."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
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
class VoteRequestPartitionData:
    partition_index: Int32 = 0
    replica_epoch: Int32 = 0
    replica_id: Int32 = 0
    replica_directory_id: Uuid = field(since=1, default=ZERO_UUID)
    voter_directory_id: Uuid = field(since=1, default=ZERO_UUID)
    last_offset_epoch: Int32 = 0
    last_offset: Int64 = 0
    pre_vote: Bool = field(since=2, default=False)


@struct
class VoteRequestTopicData:
    topic_name: String = ""
    partitions: Array[VoteRequestPartitionData] = []


@message(api_key=52, versions="0-2", flexible="0+")
class VoteRequest:
    """A candidate asks for a vote in the metadata quorum, or asks whether it would get one."""

    cluster_id: NullableString = None
    voter_id: Int32 = field(since=1, default=-1)
    topics: Array[VoteRequestTopicData] = []


@struct
class VoteResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    vote_granted: Bool = False


@struct
class VoteResponseTopicData:
    topic_name: String = ""
    partitions: Array[VoteResponsePartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: UInt16 = 0


@message(api_key=52, versions="0-2", flexible="0+")
class VoteResponse:
    """Whether the vote is given, and which leader the voter knows."""

    error_code: Int16 = 0
    topics: Array[VoteResponseTopicData] = []
    node_endpoints: Array[NodeEndpoint] = field(since=1, tag=0, default=[])
