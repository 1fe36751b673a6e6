"""Groups: finding a coordinator, the errors of members that nobody knows, and committed offsets."""

from typing import Any

from oracle.cases.case import FRESH, UNKNOWN_ID, Ask, Case, Id, case

_FIND: list[tuple[str, dict[str, Any]]] = [
    ("a group", {"key": "g", "coordinator_keys": ["g"]}),
    ("a transactional id", {"key": "t", "key_type": 1, "coordinator_keys": ["t"]}),
    ("an empty name", {"key": "", "coordinator_keys": [""]}),
    ("an unknown kind", {"key": "g", "key_type": 7, "coordinator_keys": ["g"]}),
]
_MANY: list[tuple[str, list[str]]] = [("nobody", []), ("two groups", ["g", "h"])]


def _join(**more: Any) -> dict[str, Any]:
    values = {
        "group_id": FRESH,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    return {**values, **more}


# Those that are answered at once.
_JOINS: list[tuple[str, dict[str, Any]]] = [
    ("an empty group id", _join(group_id="")),
    ("a session that is too short", _join(session_timeout_ms=1)),
    ("a session that is too long", _join(session_timeout_ms=9_999_999)),
    ("a member that nobody knows", _join(member_id="nobody")),
    ("no protocol type", _join(protocol_type="")),
    ("no protocols", _join(protocols=[])),
]
_SYNCS: list[tuple[str, dict[str, Any]]] = [
    ("an unknown group", {"group_id": FRESH, "generation_id": 1, "member_id": "m"}),
    ("an empty group id", {"group_id": "", "generation_id": 1, "member_id": "m"}),
]
_LEAVES: list[tuple[str, dict[str, Any]]] = [
    ("an unknown group", {"group_id": FRESH, "member_id": "m", "members": [{"member_id": "m"}]}),
    ("an empty group id", {"group_id": "", "member_id": "m", "members": [{"member_id": "m"}]}),
]


def _commit(
    offset: int = 5, topic: str = "full", partition: int = 0, **more: Any
) -> dict[str, Any]:
    entry = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "note",
    }
    topics = [{"name": topic, "topic_id": Id(topic), "partitions": [entry]}]
    values = {
        "group_id": FRESH,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time_ms": -1,
        "topics": topics,
    }
    return {**values, **more}


def _unknown_topic(**more: Any) -> dict[str, Any]:
    values = _commit(**more)
    values["topics"][0].update(name="nobody", topic_id=UNKNOWN_ID)
    return values


def _long_note() -> dict[str, Any]:
    values = _commit()
    values["topics"][0]["partitions"][0]["committed_metadata"] = "x" * 5_000
    return values


def _fetch(
    topic: str = "full", *, partitions: tuple[int, ...] = (0,), **more: Any
) -> dict[str, Any]:
    named = {"name": topic, "partition_indexes": list(partitions)}
    topics = [{**named, "topic_id": Id(topic)}]
    return {
        "group_id": FRESH,
        "topics": [named],
        "groups": [{"group_id": FRESH, "topics": topics, "member_id": None, "member_epoch": -1}],
        **more,
    }


_EVERYTHING = {
    "group_id": FRESH,
    "topics": None,
    "groups": [{"group_id": FRESH, "topics": None, "member_id": None, "member_epoch": -1}],
}
_COMMITTED = Ask("offset_commit", _commit())
_FETCHED = Ask("offset_fetch", _EVERYTHING)

_COMMITS: list[tuple[str, dict[str, Any]]] = [
    ("an offset of a group without members", _commit()),
    ("an offset behind the end", _commit(10_000)),
    ("a negative offset", _commit(-5)),
    ("an unknown partition", _commit(partition=77)),
    ("an unknown topic", _unknown_topic()),
    ("a note that is too long", _long_note()),
    ("a member of an unknown group", _commit(member_id="m", generation_id_or_member_epoch=3)),
    ("a generation without a member", _commit(generation_id_or_member_epoch=3)),
    ("a member without a generation", _commit(member_id="m")),
    ("an empty group id", _commit(group_id="")),
    ("nothing", _commit(topics=[])),
]
_FETCHES: list[tuple[str, dict[str, Any]]] = [
    ("a committed offset", _fetch()),
    ("an offset that was not committed", _fetch("three", partitions=(0, 2))),
    ("an unknown partition", _fetch(partitions=(0, 77))),
    ("a stable offset", _fetch(require_stable=True)),
    ("nothing", {**_fetch(), "topics": [], "groups": [{"group_id": FRESH, "topics": []}]}),
]


def _delete_offsets(group: str = FRESH, topic: str = "full", partition: int = 0) -> dict[str, Any]:
    topics = [{"name": topic, "partitions": [{"partition_index": partition}]}]
    return {"group_id": group, "topics": topics}


_OFFSET_DELETES: list[tuple[str, dict[str, Any]]] = [
    ("a committed offset", _delete_offsets()),
    ("an offset that was not committed", _delete_offsets(topic="three")),
    ("an unknown topic", _delete_offsets(topic="nobody")),
    ("an unknown group", _delete_offsets(group="nobody")),
    ("an empty group id", _delete_offsets(group="")),
]


def _beat(**more: Any) -> dict[str, Any]:
    values = {
        "group_id": FRESH,
        "member_id": "Member-0000000000000000A",
        "member_epoch": 0,
        "rebalance_timeout_ms": 5_000,
        "subscribed_topic_names": ["full"],
        "topic_partitions": [],
    }
    return {**values, **more}


_BEATS: list[tuple[str, dict[str, Any]]] = [
    ("a first member", _beat()),
    ("an empty group id", _beat(group_id="")),
    ("an empty member id", _beat(member_id="")),
    ("no subscription", _beat(subscribed_topic_names=None)),
    ("no time for a rebalance", _beat(rebalance_timeout_ms=-1)),
    (
        "partitions at the start",
        _beat(topic_partitions=[{"topic_id": Id("full"), "partitions": [0]}]),
    ),
    ("no partitions at the start", _beat(topic_partitions=None)),
    ("an unknown assignor", _beat(server_assignor="best")),
    ("a known assignor", _beat(server_assignor="range")),
    ("an impossible epoch", _beat(member_epoch=-5)),
    ("an epoch of an unknown group", _beat(member_epoch=3)),
    ("a goodbye to an unknown group", _beat(member_epoch=-1)),
    ("an empty instance id", _beat(instance_id="")),
    ("an empty rack", _beat(rack_id="")),
]
_FIRST_BEAT = Ask("consumer_group_heartbeat", _beat())
_NEXT_BEATS: list[tuple[str, dict[str, Any]]] = [
    ("a member that nobody knows", _beat(member_id="Member-0000000000000000B", member_epoch=1)),
    ("an epoch ahead", _beat(member_epoch=9)),
    ("a goodbye", _beat(member_epoch=-1)),
    ("a temporary goodbye without an instance", _beat(member_epoch=-2)),
    ("the same again", _beat(member_epoch=1)),
]

CASES: list[Case] = [
    *(case("find_coordinator", name, values) for name, values in _FIND),
    *(case("find_coordinator", name, {"coordinator_keys": keys}, since=4) for name, keys in _MANY),
    *(case("join_group", name, values) for name, values in _JOINS),
    case("join_group", "a first join without an id", _join(), since=4, ignoring=["member_id"]),
    *(case("sync_group", name, values) for name, values in _SYNCS),
    *(case("heartbeat", name, values) for name, values in _SYNCS),
    *(case("leave_group", name, values) for name, values in _LEAVES),
    *(case("offset_commit", name, values, after=[_FETCHED]) for name, values in _COMMITS),
    *(case("offset_fetch", name, values, before=[_COMMITTED]) for name, values in _FETCHES),
    case("offset_fetch", "everything", _EVERYTHING, before=[_COMMITTED], since=2),
    case("offset_fetch", "everything of an unknown group", _EVERYTHING, since=2),
    *(
        case("offset_delete", name, values, before=[_COMMITTED], after=[_FETCHED])
        for name, values in _OFFSET_DELETES
    ),
    case("describe_groups", "an unknown group", {"groups": [FRESH]}),
    case("describe_groups", "an empty name", {"groups": [""]}),
    case("describe_groups", "nobody", {"groups": []}),
    case("describe_groups", "a group with offsets only", {"groups": [FRESH]}, before=[_COMMITTED]),
    case(
        "describe_groups",
        "operations too",
        {"groups": [FRESH], "include_authorized_operations": True},
        before=[_COMMITTED],
        since=3,
    ),
    case("describe_groups", "a consumer group", {"groups": [FRESH]}, before=[_FIRST_BEAT]),
    case("delete_groups", "an unknown group", {"groups_names": [FRESH]}),
    case("delete_groups", "an empty name", {"groups_names": [""]}),
    case(
        "delete_groups",
        "a group with offsets only",
        {"groups_names": [FRESH]},
        before=[_COMMITTED],
        after=[_FETCHED],
    ),
    case("delete_groups", "a group with members", {"groups_names": [FRESH]}, before=[_FIRST_BEAT]),
    case("list_groups", "a state that no group is in", {"states_filter": ["nonsense"]}, since=4),
    case("list_groups", "a kind that no group is of", {"types_filter": ["nonsense"]}, since=5),
    *(
        case("consumer_group_heartbeat", name, values, ignoring=["member_id"])
        for name, values in _BEATS
    ),
    *(
        case("consumer_group_heartbeat", name, values, before=[_FIRST_BEAT])
        for name, values in _NEXT_BEATS
    ),
    case("consumer_group_describe", "an unknown group", {"group_ids": [FRESH]}),
    case("consumer_group_describe", "an empty name", {"group_ids": [""]}),
    case(
        "consumer_group_describe",
        "a group of one",
        {"group_ids": [FRESH], "include_authorized_operations": True},
        before=[_FIRST_BEAT],
    ),
    case("consumer_group_describe", "a classic group", {"group_ids": [FRESH]}, before=[_COMMITTED]),
]
