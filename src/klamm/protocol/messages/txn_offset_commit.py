"""TxnOffsetCommit, API 28."""

from klamm.protocol.declare import (
    Array,
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
class TxnOffsetCommitRequestPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = field(since=2, default=-1)
    committed_metadata: NullableString = ""


@struct
class TxnOffsetCommitRequestTopic:
    name: String = ""
    partitions: Array[TxnOffsetCommitRequestPartition] = []


@message(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest:
    """Store how far a group has read, to count only if the transaction commits."""

    transactional_id: String = ""
    group_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id: Int32 = field(since=3, default=-1)
    member_id: String = field(since=3, default="")
    group_instance_id: NullableString = field(since=3, default=None)
    topics: Array[TxnOffsetCommitRequestTopic] = []


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class TxnOffsetCommitResponseTopic:
    name: String = ""
    partitions: Array[TxnOffsetCommitResponsePartition] = []


@message(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse:
    """The outcome of the pending commit for each partition."""

    throttle_time_ms: Int32 = 0
    topics: Array[TxnOffsetCommitResponseTopic] = []
