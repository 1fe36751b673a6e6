"""ListTransactions, API 66."""

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


@message(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    """Ask which transactions a coordinator knows, with optional filters."""

    state_filters: Array[String] = []
    producer_id_filters: Array[Int64] = []
    duration_filter: Int64 = field(since=1, default=-1)
    transactional_id_pattern: NullableString = field(since=2, default=None)


@struct
class TransactionState:
    transactional_id: String = ""
    producer_id: Int64 = 0
    transaction_state: String = ""


@message(api_key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse:
    """Transactions that match the filters."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: Array[String] = []
    transaction_states: Array[TransactionState] = []
