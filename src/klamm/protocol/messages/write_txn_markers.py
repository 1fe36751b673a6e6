"""WriteTxnMarkers, API 27."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    field,
    message,
    struct,
)


@struct
class WritableTxnMarkerTopic:
    name: String = ""
    partition_indexes: Array[Int32] = []


@struct
class WritableTxnMarker:
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    transaction_result: Bool = False
    topics: Array[WritableTxnMarkerTopic] = []
    coordinator_epoch: Int32 = 0
    transaction_version: Int8 = field(since=2, default=0)


@message(api_key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersRequest:
    """The transaction coordinator tells leaders to write commit or abort markers."""

    markers: Array[WritableTxnMarker] = []


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class WritableTxnMarkerTopicResult:
    name: String = ""
    partitions: Array[WritableTxnMarkerPartitionResult] = []


@struct
class WritableTxnMarkerResult:
    producer_id: Int64 = 0
    topics: Array[WritableTxnMarkerTopicResult] = []


@message(api_key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersResponse:
    """The outcome per producer and partition."""

    markers: Array[WritableTxnMarkerResult] = []
