"""Produce, API 0."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    Int64,
    NullableRecords,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class PartitionProduceData:
    index: Int32 = 0
    records: NullableRecords = b""


@struct
class TopicProduceData:
    name: String = field(until=12, default="")
    topic_id: Uuid = field(since=13, default=ZERO_UUID)
    partition_data: Array[PartitionProduceData] = []


@message(api_key=0, versions="3-13", flexible="9+")
class ProduceRequest:
    """Append record batches to partitions.

    `acks` says how many replicas must have them before the answer.
    """

    transactional_id: NullableString = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: Array[TopicProduceData] = []


@struct
class BatchIndexAndErrorMessage:
    batch_index: Int32 = 0
    batch_index_error_message: NullableString = None


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class PartitionProduceResponse:
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Int64 = -1
    log_start_offset: Int64 = field(since=5, default=-1)
    record_errors: Array[BatchIndexAndErrorMessage] = field(since=8, default=[])
    error_message: NullableString = field(since=8, default=None)
    current_leader: LeaderIdAndEpoch = field(since=10, tag=0, factory=LeaderIdAndEpoch)


@struct
class TopicProduceResponse:
    name: String = field(until=12, default="")
    topic_id: Uuid = field(since=13, default=ZERO_UUID)
    partition_responses: Array[PartitionProduceResponse] = []


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


@message(api_key=0, versions="3-13", flexible="9+")
class ProduceResponse:
    """Where each batch was appended, or why not.

    Absent when the request asked for no acknowledgement.
    """

    responses: Array[TopicProduceResponse] = []
    throttle_time_ms: Int32 = 0
    node_endpoints: Array[NodeEndpoint] = field(since=10, tag=0, default=[])
