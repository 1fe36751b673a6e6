"""Transactions: every request of a producer that has none, has one, and is not who it says."""

from typing import Any

from oracle.cases.case import FRESH, Ask, Case, Earlier, batch, case, to_partition

_ID = {"transactional_id": FRESH, "transaction_timeout_ms": 60_000}
_INIT = Ask("init_producer_id", _ID)


def _init(**more: Any) -> dict[str, Any]:
    return {**_ID, **more}


_INITS: list[tuple[str, dict[str, Any]]] = [
    ("a transactional id", _init()),
    ("an empty transactional id", _init(transactional_id="")),
    ("no time at all", _init(transaction_timeout_ms=0)),
    ("negative time", _init(transaction_timeout_ms=-1)),
    ("too much time", _init(transaction_timeout_ms=9_999_999)),
    ("a producer nobody knows", _init(producer_id=4_711, producer_epoch=3)),
    ("a producer without an epoch", _init(producer_id=4_711, producer_epoch=-1)),
    ("an epoch without a producer", _init(producer_id=-1, producer_epoch=3)),
]
_MINE = {"producer_id": Earlier("producer_id"), "producer_epoch": 0}
_ANOTHER = {"producer_id": 4_711, "producer_epoch": 0}


def _add(topic: str = "full", partition: int = 0, **who: Any) -> dict[str, Any]:
    topics = [{"name": topic, "partitions": [partition]}]
    one = {"transactional_id": FRESH, "verify_only": False, "topics": topics, **who}
    return {
        "transactions": [one],
        "v3_and_below_transactional_id": FRESH,
        "v3_and_below_producer_id": who["producer_id"],
        "v3_and_below_producer_epoch": who["producer_epoch"],
        "v3_and_below_topics": topics,
    }


_ADDS: list[tuple[str, dict[str, Any]]] = [
    ("a partition", _add(**_MINE)),
    ("an unknown partition", _add(partition=77, **_MINE)),
    ("an unknown topic", _add("nobody", **_MINE)),
    ("another producer", _add(**_ANOTHER)),
    ("a newer epoch", _add(**{**_MINE, "producer_epoch": 5})),
]
_OFFSETS: list[tuple[str, dict[str, Any]]] = [
    ("a group", {"group_id": FRESH, **_MINE}),
    ("an empty group id", {"group_id": "", **_MINE}),
    ("another producer", {"group_id": FRESH, **_ANOTHER}),
]
_ENDS: list[tuple[str, dict[str, Any]]] = [
    ("nothing, committed", {"committed": True, **_MINE}),
    ("nothing, aborted", {"committed": False, **_MINE}),
    ("another producer", {"committed": True, **_ANOTHER}),
    ("a newer epoch", {"committed": True, **_MINE, "producer_epoch": 5}),
]


def _txn_commit(topic: str = "full", **who: Any) -> dict[str, Any]:
    entry = {
        "partition_index": 0,
        "committed_offset": 3,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    return {
        "transactional_id": FRESH,
        "group_id": FRESH,
        "generation_id": -1,
        "member_id": "",
        "topics": [{"name": topic, "partitions": [entry]}],
        **who,
    }


_UNINITIALISED = [
    case("add_partitions_to_txn", "an unknown transactional id", _add(**_ANOTHER)),
    case(
        "add_offsets_to_txn",
        "an unknown transactional id",
        {"transactional_id": FRESH, "group_id": FRESH, **_ANOTHER},
    ),
    case(
        "end_txn",
        "an unknown transactional id",
        {"transactional_id": FRESH, "committed": True, **_ANOTHER},
    ),
    case("txn_offset_commit", "an unknown transactional id", _txn_commit(**_ANOTHER)),
    case("describe_transactions", "an unknown transactional id", {"transactional_ids": [FRESH]}),
    case("describe_transactions", "an empty name", {"transactional_ids": [""]}),
    case(
        "list_transactions",
        "an unknown state",
        {"state_filters": ["nonsense"]},
        ignoring=["transaction_states"],
    ),
    case("list_transactions", "a producer nobody knows", {"producer_id_filters": [424_242]}),
    case(
        "list_transactions",
        "a bad pattern",
        {"transactional_id_pattern": "a(", "producer_id_filters": [424_242]},
        since=2,
    ),
]
_BATCH = batch(transactional=True, producer_id=4_711, producer_epoch=0, base_sequence=0)
_PRODUCES = [
    case(
        "produce",
        "a transactional batch of a producer nobody knows",
        to_partition(_BATCH, "full", transactional_id=FRESH),
        before=[_INIT],
    ),
    case(
        "produce",
        "a transactional batch without a transactional id",
        to_partition(_BATCH, "full"),
    ),
]

CASES: list[Case] = [
    *(case("init_producer_id", name, values) for name, values in _INITS),
    case("init_producer_id", "a transactional id again", _ID, before=[_INIT]),
    case("init_producer_id", "its own epoch", _init(**_MINE), before=[_INIT], since=3),
    *(case("add_partitions_to_txn", name, values, before=[_INIT]) for name, values in _ADDS),
    *(
        case("add_offsets_to_txn", name, {"transactional_id": FRESH, **values}, before=[_INIT])
        for name, values in _OFFSETS
    ),
    *(
        case("end_txn", name, {"transactional_id": FRESH, **values}, before=[_INIT])
        for name, values in _ENDS
    ),
    case(
        "txn_offset_commit", "without a transaction", _txn_commit(**_MINE), before=[_INIT], until=4
    ),
    case("txn_offset_commit", "another producer", _txn_commit(**_ANOTHER), before=[_INIT]),
    case("txn_offset_commit", "an unknown topic", _txn_commit("nobody", **_MINE), before=[_INIT]),
    *_UNINITIALISED,
    *_PRODUCES,
    case(
        "describe_transactions",
        "one that has not begun",
        {"transactional_ids": [FRESH]},
        before=[_INIT],
        ignoring=["transaction_start_time_ms"],
    ),
]
