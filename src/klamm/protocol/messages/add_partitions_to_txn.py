"""AddPartitionsToTxn, API 24."""

from klamm.protocol.declare import Array, Bool, Int16, Int32, Int64, String, field, message, struct


@struct
class AddPartitionsToTxnTopic:
    name: String = ""
    partitions: Array[Int32] = []


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    verify_only: Bool = False
    topics: Array[AddPartitionsToTxnTopic] = []


@message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest:
    """Make partitions part of a transaction.

    From version 4 on brokers use it to do so, or to check it, for several transactions at once.
    """

    transactions: Array[AddPartitionsToTxnTransaction] = field(since=4, default=[])
    v3_and_below_transactional_id: String = field(until=3, default="")
    v3_and_below_producer_id: Int64 = field(until=3, default=0)
    v3_and_below_producer_epoch: Int16 = field(until=3, default=0)
    v3_and_below_topics: Array[AddPartitionsToTxnTopic] = field(until=3, default=[])


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


@struct
class AddPartitionsToTxnTopicResult:
    name: String = ""
    results_by_partition: Array[AddPartitionsToTxnPartitionResult] = []


@struct
class AddPartitionsToTxnResult:
    transactional_id: String = ""
    topic_results: Array[AddPartitionsToTxnTopicResult] = []


@message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse:
    """The outcome per transaction and partition."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = field(since=4, default=0)
    results_by_transaction: Array[AddPartitionsToTxnResult] = field(since=4, default=[])
    results_by_topic_v3_and_below: Array[AddPartitionsToTxnTopicResult] = field(until=3, default=[])
