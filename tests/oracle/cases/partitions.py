"""Partitions and the cluster: growing, deleting records, epochs, leaders, directories, producers, the quorum."""

from typing import Any

from oracle.cases.case import FRESH, Ask, Case, Earlier, batch, case, create, produce

_DESCRIBED = Ask("metadata", {"topics": [{"name": FRESH}], "allow_auto_topic_creation": False})


def _grow(
    count: int, *, name: str = FRESH, placed: list[list[int]] | None = None, **more: Any
) -> dict[str, Any]:
    placement = None if placed is None else [{"broker_ids": ids} for ids in placed]
    topic = {"name": name, "count": count, "assignments": placement}
    return {"topics": [topic], "timeout_ms": 5_000, **more}


_GROW: list[tuple[str, dict[str, Any]]] = [
    ("more partitions", _grow(3)),
    ("more partitions, only validated", _grow(3, validate_only=True)),
    ("as many partitions", _grow(1)),
    ("fewer partitions", _grow(0)),
    ("less than no partitions", _grow(-1)),
    ("partitions placed by hand", _grow(3, placed=[[1], [1]])),
    ("partitions placed too rarely", _grow(3, placed=[[1]])),
    ("partitions placed on an unknown broker", _grow(2, placed=[[9]])),
    ("partitions placed twice on one broker", _grow(2, placed=[[1, 1]])),
    ("partitions placed nowhere", _grow(2, placed=[[]])),
    ("an unknown topic", _grow(3, name="nobody")),
    ("an empty name", _grow(3, name="")),
    ("no topics", {"topics": []}),
    (
        "a topic named twice",
        {"topics": [*_grow(2)["topics"], *_grow(3)["topics"]], "timeout_ms": 5_000},
    ),
]


def _delete(offset: int, *, name: str = FRESH, partition: int = 0) -> dict[str, Any]:
    topic = {"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}
    return {"topics": [topic], "timeout_ms": 5_000}


_DELETE_RECORDS: list[tuple[str, dict[str, Any]]] = [
    ("some records", _delete(3)),
    ("all records", _delete(10)),
    ("all records by -1", _delete(-1)),
    ("no records", _delete(0)),
    ("records behind the end", _delete(11)),
    ("a negative offset", _delete(-2)),
    ("an unknown topic", _delete(1, name="nobody")),
    ("an unknown partition", _delete(1, partition=7)),
    ("a negative partition", _delete(1, partition=-1)),
    ("no topics", {"topics": []}),
]
_TEN_RECORDS = [create(), produce(batch(10))]
_ENDS = [
    Ask("list_offsets", {"replica_id": -1, "topics": [
        {"name": FRESH, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}]})
    for timestamp in (-2, -1)
]  # fmt: skip


def _epoch(
    epoch: int, *, name: str = "full", partition: int = 0, current: int = -1
) -> dict[str, Any]:
    asked = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    return {"replica_id": -1, "topics": [{"topic": name, "partitions": [asked]}]}


_EPOCHS: list[tuple[str, dict[str, Any]]] = [
    ("the current epoch", _epoch(0)),
    ("an epoch to come", _epoch(5)),
    ("no epoch", _epoch(-1)),
    ("the epoch of an empty partition", _epoch(0, name="empty")),
    ("a fenced leader epoch", _epoch(0, current=-1)),
    ("an unknown leader epoch", _epoch(0, current=7)),
    ("the right leader epoch", _epoch(0, current=0)),
    ("an unknown topic", _epoch(0, name="nobody")),
    ("an unknown partition", _epoch(0, partition=7)),
    ("no topics", {"topics": []}),
]

_LOG_DIRS: list[tuple[str, dict[str, Any]]] = [
    ("one partition", {"topics": [{"topic": "full", "partitions": [0]}]}),
    ("an unknown partition", {"topics": [{"topic": "full", "partitions": [0, 7]}]}),
    ("an unknown topic", {"topics": [{"topic": "nobody", "partitions": [0]}]}),
    ("no topics", {"topics": []}),
    ("a topic without partitions", {"topics": [{"topic": "full", "partitions": []}]}),
]


def _elect(*topics: tuple[str, list[int]], kind: int = 0) -> dict[str, Any]:
    asked = [{"topic": name, "partitions": partitions} for name, partitions in topics]
    return {"election_type": kind, "topic_partitions": asked, "timeout_ms": 5_000}


_ELECTIONS: list[tuple[str, dict[str, Any]]] = [
    ("partitions that need none", _elect(("three", [2, 0]))),
    ("a partition named twice", _elect(("three", [0, 0]), ("three", [0]))),
    ("an unknown topic", _elect(("nobody", [0, 1]))),
    ("a bad name", _elect(("a b", [0]))),
    ("unknown partitions", _elect(("three", [7, -1, 0]))),
    ("no partitions", _elect(("three", []))),
    ("no topics", _elect()),
    ("all topics", {"topic_partitions": None, "timeout_ms": 5_000}),
]
_ELECTIONS_OF_A_KIND: list[tuple[str, dict[str, Any]]] = [
    ("an unclean one that is not needed", _elect(("three", [1]), kind=1)),
    ("an unclean one of all topics", {**_elect(kind=1), "topic_partitions": None}),
    ("an unknown kind", _elect(("three", [0]), ("nobody", [0]), kind=2)),
    ("an unknown kind, of all topics", {**_elect(kind=-1), "topic_partitions": None}),
    ("an unknown kind, of no topics", _elect(kind=2)),
    ("an unknown kind, of no partitions", _elect(("three", []), kind=2)),
]


def _move(path: object, name: str, *partitions: int) -> dict[str, Any]:
    return {"path": path, "topics": [{"name": name, "partitions": list(partitions)}]}


_HOME = Earlier("results.0.log_dir")
_MOVES: list[tuple[str, list[dict[str, Any]]]] = [
    ("to where it is", [_move(_HOME, "full", 0)]),
    ("to nowhere", [_move("/nowhere", "full", 0)]),
    ("to a relative path", [_move("data", "full", 0)]),
    ("to an empty path", [_move("", "full", 0)]),
    ("an unknown topic", [_move(_HOME, "nobody", 0)]),
    ("an unknown topic, to nowhere", [_move("/nowhere", "nobody", 0)]),
    ("the metadata", [_move(_HOME, "__cluster_metadata", 0)]),
    ("unknown partitions", [_move(_HOME, "full", 7, -1)]),
    ("the longest name", [_move(_HOME, "x" * 213, 0)]),
    ("a name that is too long", [_move(_HOME, "x" * 214, 0)]),
    ("a partition named twice", [_move(_HOME, "full", 0, 0), _move("/nowhere", "full", 0)]),
    ("no partitions", [_move("/nowhere", "full")]),
    ("no directories", []),
]
_WHERE = Ask("describe_log_dirs", {"topics": [{"topic": "full", "partitions": [0]}]})


def _producers(name: str, *partitions: int) -> dict[str, Any]:
    return {"topics": [{"name": name, "partition_indexes": list(partitions)}]}


_IDEMPOTENT = [
    create(),
    produce(batch(3, producer_id=4_000, producer_epoch=2, base_sequence=0)),
    produce(batch(2, producer_id=4_000, producer_epoch=2, base_sequence=3)),
]

_PRODUCERS = [
    case("describe_producers", "an active producer", _producers(FRESH, 0), before=_IDEMPOTENT),
    case("describe_producers", "no producers", _producers("full", 0)),
    case("describe_producers", "an unknown partition", _producers("full", 7)),
    case("describe_producers", "an unknown topic", _producers("nobody", 0)),
    case("describe_producers", "a bad name", _producers("a b", 0)),
    case("describe_producers", "no topics", {"topics": []}),
]

# Some of it moves all the time, and klamm is not started with a listener for controllers.
_QUORUM_DIFFERS = (
    "listeners",
    "high_watermark",
    "log_end_offset",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
)


def _quorum(topic: str, partition: int) -> dict[str, Any]:
    return {"topics": [{"topic_name": topic, "partitions": [{"partition_index": partition}]}]}


_QUORUM: list[tuple[str, dict[str, Any]]] = [
    ("the metadata partition", _quorum("__cluster_metadata", 0)),
    ("another partition", _quorum("__cluster_metadata", 1)),
    ("another topic", _quorum("full", 0)),
    ("no topics", {"topics": []}),
]

_CLUSTER: list[tuple[str, dict[str, Any]]] = [
    ("brokers", {}),
    ("brokers and operations", {"include_cluster_authorized_operations": True}),
    ("brokers, fenced ones too", {"include_fenced_brokers": True}),
]

CASES: list[Case] = [
    *(case("create_partitions", n, v, before=[create()], after=[_DESCRIBED]) for n, v in _GROW),
    *(case("delete_records", n, v, before=_TEN_RECORDS, after=_ENDS) for n, v in _DELETE_RECORDS),
    *(case("offset_for_leader_epoch", name, values) for name, values in _EPOCHS),
    *(case("elect_leaders", name, values) for name, values in _ELECTIONS),
    *(case("elect_leaders", name, values, since=1) for name, values in _ELECTIONS_OF_A_KIND),
    *(case("describe_log_dirs", name, values) for name, values in _LOG_DIRS),
    *(case("alter_replica_log_dirs", n, {"dirs": dirs}, before=[_WHERE]) for n, dirs in _MOVES),
    *_PRODUCERS,
    *(case("describe_quorum", name, values, ignoring=_QUORUM_DIFFERS) for name, values in _QUORUM),
    *(case("describe_cluster", name, values) for name, values in _CLUSTER),
    case("describe_cluster", "controllers, asked of a broker", {"endpoint_type": 2}, since=1),
    case("describe_cluster", "an unknown kind of endpoint", {"endpoint_type": 9}, since=1),
]
