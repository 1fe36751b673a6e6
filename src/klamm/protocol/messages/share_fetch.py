"""ShareFetch, API 78."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    Records,
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
class FetchPartition:
    partition_index: Int32 = 0
    acknowledgement_batches: Array[AcknowledgementBatch] = []


@struct
class FetchTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[FetchPartition] = []


@struct
class ForgottenTopic:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[Int32] = []


@message(api_key=78, versions="1-2", flexible="0+")
class ShareFetchRequest:
    """Acquire records of share partitions, and acknowledge earlier ones on the way."""

    group_id: NullableString = None
    member_id: NullableString = ""
    share_session_epoch: Int32 = 0
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 0x7FFFFFFF
    max_records: Int32 = 0
    batch_size: Int32 = 0
    share_acquire_mode: Int8 = field(since=2, default=0)
    is_renew_ack: Bool = field(since=2, default=False)
    topics: Array[FetchTopic] = []
    forgotten_topics_data: Array[ForgottenTopic] = []


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class AcquiredRecords:
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_count: Int16 = 0


@struct
class PartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: NullableString = None
    current_leader: LeaderIdAndEpoch = field(factory=LeaderIdAndEpoch)
    records: Records = b""
    acquired_records: Array[AcquiredRecords] = []


@struct
class ShareFetchableTopicResponse:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[PartitionData] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


@message(api_key=78, versions="1-2", flexible="0+")
class ShareFetchResponse:
    """Acquired records per partition, with how often each was delivered."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    acquisition_lock_timeout_ms: Int32 = 0
    responses: Array[ShareFetchableTopicResponse] = []
    node_endpoints: Array[NodeEndpoint] = []
