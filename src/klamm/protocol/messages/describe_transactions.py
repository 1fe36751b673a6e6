"""DescribeTransactions, API 65."""

from klamm.protocol.declare import Array, Int16, Int32, Int64, String, message, struct


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest:
    """Ask for the state of transactions."""

    transactional_ids: Array[String] = []


@struct
class TopicData:
    topic: String = ""
    partitions: Array[Int32] = []


@struct
class TransactionState:
    error_code: Int16 = 0
    transactional_id: String = ""
    transaction_state: String = ""
    transaction_timeout_ms: Int32 = 0
    transaction_start_time_ms: Int64 = 0
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    topics: Array[TopicData] = []


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse:
    """State, producer and partitions of each transaction."""

    throttle_time_ms: Int32 = 0
    transaction_states: Array[TransactionState] = []
