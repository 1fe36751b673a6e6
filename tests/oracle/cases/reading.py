"""Reading: fetches and offsets, byte for byte."""

from typing import Any

from oracle.cases.case import (
    FRESH,
    UNKNOWN_ID,
    Ask,
    Case,
    Earlier,
    Id,
    batch,
    case,
    create,
    produce,
)


def _list(
    timestamp: int, *, name: str = "full", partition: int = 0, epoch: int = -1, **more: Any
) -> dict[str, Any]:
    asked = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
    return {"replica_id": -1, "topics": [{"name": name, "partitions": [asked]}], **more}


_LIST: list[tuple[str, dict[str, Any]]] = [
    ("latest", _list(-1)),
    ("latest, committed", _list(-1, isolation_level=1)),
    ("earliest", _list(-2)),
    ("largest timestamp", _list(-3)),
    ("earliest on this disk", _list(-4)),
    ("latest elsewhere", _list(-5)),
    ("earliest to be moved", _list(-6)),
    ("an unknown special point", _list(-7)),
    ("time zero", _list(0)),
    ("the time of the first record", _list(1_000)),
    ("a time within a batch", _list(1_002)),
    ("a time between batches", _list(1_500)),
    ("the time of the last record", _list(2_004)),
    ("a time behind the end", _list(3_000)),
    *((f"{point} of an empty partition", _list(code, name="empty"))
      for point, code in (("latest", -1), ("earliest", -2), ("largest timestamp", -3), ("time zero", 0))),
    *((f"{point} after a deletion", _list(code, name="deleted"))
      for point, code in (("latest", -1), ("earliest", -2), ("largest timestamp", -3), ("time zero", 0),
                          ("earliest on this disk", -4))),
    ("an unknown topic", _list(-1, name="nobody")),
    ("a bad name", _list(-1, name="a b")),
    ("an unknown partition", _list(-1, partition=9)),
    ("a partition named twice", {"replica_id": -1, "topics": 2 * _list(-1)["topics"]}),
    ("an unknown leader epoch", _list(-1, epoch=5)),
    ("the right leader epoch", _list(-1, epoch=0)),
    ("no topics", {"replica_id": -1, "topics": []}),
    ("an unknown isolation level", _list(-1, isolation_level=7)),
    ("as a debugger", {**_list(-1), "replica_id": -2}),
]  # fmt: skip


def _fetch(offset: int = 0, *, name: str = "full", partition: int = 0, part: dict[str, Any] | None = None,
           **more: Any) -> dict[str, Any]:  # fmt: skip
    asked = {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": 1 << 20,
        **(part or {}),
    }
    topic = {"topic": name, "topic_id": Id(name), "partitions": [asked]}
    return {"max_wait_ms": 50, "min_bytes": 1, "max_bytes": 1 << 20, "topics": [topic], **more}


_FETCH: list[tuple[str, dict[str, Any]]] = [
    ("from the start", _fetch()),
    ("from the middle of a batch", _fetch(2)),
    ("from the second batch", _fetch(5)),
    ("from the end", _fetch(10)),
    ("behind the end", _fetch(11)),
    ("before the start", _fetch(-1)),
    ("an empty partition", _fetch(name="empty")),
    ("committed records", _fetch(isolation_level=1)),
    ("before what was deleted", _fetch(2, name="deleted")),
    ("what was not deleted", _fetch(5, name="deleted")),
    ("at most one byte of the partition", _fetch(part={"partition_max_bytes": 1})),
    ("at most one batch of the partition", _fetch(part={"partition_max_bytes": 160})),
    ("no bytes of the partition", _fetch(part={"partition_max_bytes": 0})),
    ("at most one byte", _fetch(max_bytes=1)),
    ("at most no bytes", _fetch(max_bytes=0)),
    ("more bytes than there are", _fetch(min_bytes=1_000_000)),
    ("no wait", _fetch(10, max_wait_ms=0)),
    ("an unknown partition", _fetch(partition=7)),
    ("no topics", {"max_wait_ms": 0, "topics": []}),
    ("three partitions", {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [
        {"topic": "three", "topic_id": Id("three"),
         "partitions": [{"partition": n, "partition_max_bytes": 1000} for n in (2, 0, 1)]}]}),
    ("two topics with little room", {"max_wait_ms": 0, "max_bytes": 100, "topics": [
        *_fetch()["topics"], *_fetch(5, name="deleted")["topics"]]}),
    ("a partition named twice", {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": 2 * _fetch()["topics"]}),
]  # fmt: skip

_FETCH_EPOCHS: list[tuple[str, dict[str, Any]]] = [
    ("the right leader epoch", _fetch(part={"current_leader_epoch": 0})),
    ("an unknown leader epoch", _fetch(part={"current_leader_epoch": 5})),
]
_FETCH_DIVERGING: list[tuple[str, dict[str, Any]]] = [
    ("the same epoch before", _fetch(5, part={"last_fetched_epoch": 0})),
    ("an epoch that never was", _fetch(5, part={"last_fetched_epoch": 3})),
]


def _by_id(topic_id: object) -> dict[str, Any]:
    topic = {"topic_id": topic_id, "partitions": [{"partition_max_bytes": 1000}]}
    return {"max_wait_ms": 0, "max_bytes": 1000, "topics": [topic]}


def _session(session: object, epoch: int, **more: Any) -> dict[str, Any]:
    return {**_fetch(), "session_id": session, "session_epoch": epoch, **more}


_OPEN = Ask("fetch", _session(0, 0, max_wait_ms=0))
_NOTHING_NEW: dict[str, Any] = {"topics": [], "max_wait_ms": 0}
_FORGET = {"forgotten_topics_data": [{"topic": "full", "topic_id": Id("full"), "partitions": [0]}]}

_SESSIONS = [
    case("fetch", "a new session", _session(0, 0), since=7),
    case("fetch", "a new session of nothing", _session(0, 0, **_NOTHING_NEW), since=7),
    case("fetch", "a session that was never opened", _session(77, 1), since=7),
    case("fetch", "a session that ends", _session(77, -1), since=7),
    # Names and ids cannot be mixed in one session, and it was opened in the newest version.
    case("fetch", "the session goes on", _session(Earlier("session_id"), 1, **_NOTHING_NEW), since=13, before=[_OPEN]),
    case("fetch", "the session goes on by name", _session(Earlier("session_id"), 1, **_NOTHING_NEW),
         since=7, until=12, before=[_OPEN]),
    case("fetch", "the session skips an epoch", _session(Earlier("session_id"), 5, **_NOTHING_NEW),
         since=13, before=[_OPEN]),
    case("fetch", "the session forgets", _session(Earlier("session_id"), 1, **_NOTHING_NEW, **_FORGET),
         since=13, before=[_OPEN]),
    case("fetch", "the session changes a partition",
         _session(Earlier("session_id"), 1, topics=_fetch(5)["topics"]), since=13, before=[_OPEN]),
]  # fmt: skip

CASES: list[Case] = [
    *(case("list_offsets", name, values) for name, values in _LIST),
    *(case("fetch", name, values) for name, values in _FETCH),
    *(case("fetch", name, values, since=9) for name, values in _FETCH_EPOCHS),
    *(case("fetch", name, values, since=12) for name, values in _FETCH_DIVERGING),
    case("fetch", "an unknown topic", {**_fetch(), "topics": [
        {"topic": "nobody", "partitions": [{"partition_max_bytes": 1000}]}]}, until=12),
    case("fetch", "an unknown id", _by_id(UNKNOWN_ID), since=13),
    case("fetch", "by id", _by_id(Id("full")), since=13),
    case("fetch", "what was just written", _fetch(name=FRESH), before=[create(), produce(batch(3))]),
    *_SESSIONS,
]  # fmt: skip
