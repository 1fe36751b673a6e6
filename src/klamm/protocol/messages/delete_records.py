"""DeleteRecords, API 21."""

from klamm.protocol.declare import Array, Int16, Int32, Int64, String, message, struct


@struct
class DeleteRecordsPartition:
    partition_index: Int32 = 0
    offset: Int64 = 0


@struct
class DeleteRecordsTopic:
    name: String = ""
    partitions: Array[DeleteRecordsPartition] = []


@message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    """Move the start of partitions forward, so that older records are gone."""

    topics: Array[DeleteRecordsTopic] = []
    timeout_ms: Int32 = 0


@struct
class DeleteRecordsPartitionResult:
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


@struct
class DeleteRecordsTopicResult:
    name: String = ""
    partitions: Array[DeleteRecordsPartitionResult] = []


@message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    """The new start offset of each partition."""

    throttle_time_ms: Int32 = 0
    topics: Array[DeleteRecordsTopicResult] = []
