"""ShareAcknowledge, API 79."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class AcknowledgementBatch:
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: Array[Int8] = []


@struct
class AcknowledgePartition:
    partition_index: Int32 = 0
    acknowledgement_batches: Array[AcknowledgementBatch] = []


@struct
class AcknowledgeTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AcknowledgePartition] = []


@message(api_key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeRequest:
    """Accept, release, reject or renew acquired records."""

    group_id: NullableString = None
    member_id: NullableString = ""
    share_session_epoch: Int32 = 0
    is_renew_ack: Bool = field(since=2, default=False)
    topics: Array[AcknowledgeTopic] = []


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class PartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    current_leader: LeaderIdAndEpoch = field(factory=LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


@message(api_key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeResponse:
    """The outcome for each partition."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    acquisition_lock_timeout_ms: Int32 = field(since=2, default=0)
    responses: Array[ShareAcknowledgeTopicResponse] = []
    node_endpoints: Array[NodeEndpoint] = []
