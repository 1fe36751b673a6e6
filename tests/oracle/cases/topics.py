"""Topics: creating, deleting, describing."""

from typing import Any

from oracle.cases.case import FRESH, UNKNOWN_ID, Ask, Case, Id, case, create


def _create(**change: Any) -> dict[str, Any]:
    topic = {"name": FRESH, "num_partitions": 1, "replication_factor": 1, **change}
    return {"topics": [topic], "timeout_ms": 5_000}


def _config(name: str, value: str | None) -> dict[str, Any]:
    return _create(configs=[{"name": name, "value": value}])


def _placed(*replicas: list[int], **more: Any) -> dict[str, Any]:
    placement = [{"partition_index": n, "broker_ids": ids} for n, ids in enumerate(replicas)]
    return _create(num_partitions=-1, replication_factor=-1, assignments=placement, **more)


def _describe(*names: str, **more: Any) -> dict[str, Any]:
    return {"topics": [{"name": name} for name in names], **more}


_DESCRIBED = Ask("metadata", {**_describe(FRESH), "allow_auto_topic_creation": False})

_CREATE = [
    ("one partition", _create()),
    ("many partitions", _create(num_partitions=9)),
    ("the broker's defaults", _create(num_partitions=-1, replication_factor=-1)),
    ("placed by hand", _placed([1], [1])),
    ("placed by hand, and counted too", {"topics": [{**_placed([1])["topics"][0], "num_partitions": 1}]}),
    ("placed on an unknown broker", _placed([7])),
    ("placed twice on one broker", _placed([1, 1])),
    ("placed nowhere", _placed([])),
    ("placed with a hole", _create(num_partitions=-1, replication_factor=-1,
                                   assignments=[{"partition_index": 1, "broker_ids": [1]}])),
    ("only validated", {**_create(), "validate_only": True}),
    ("no topics", {"topics": []}),
    ("no partitions", _create(num_partitions=0)),
    ("fewer than no partitions", _create(num_partitions=-2)),
    ("no replicas", _create(replication_factor=0)),
    ("more replicas than brokers", _create(replication_factor=2)),
    ("a name that is taken", _create(name="full")),
    ("a name that is taken, only validated", {**_create(name="full"), "validate_only": True}),
    ("an empty name", _create(name="")),
    ("a dot for a name", _create(name=".")),
    ("two dots for a name", _create(name="..")),
    ("a name with a space", _create(name="a b")),
    ("a name with a slash", _create(name="a/b")),
    ("a long name", _create(name=FRESH + "x" * 230)),
    ("a name of 250 letters", _create(name="x" * 250)),
    ("a name that collides in metrics", _create(name="append_time")),
    ("an internal topic", _create(name="__consumer_offsets_like")),
    ("the metadata topic", _create(name="__cluster_metadata")),
    ("a config", _config("retention.ms", "5000")),
    ("a config that is null", _config("retention.ms", None)),
    ("an unknown config", _config("no.such.config", "1")),
    ("a config that is no number", _config("retention.ms", "soon")),
    ("a config that is too small", _config("segment.bytes", "1")),
    ("a config that is not in the list", _config("cleanup.policy", "burn")),
    ("a list that is empty", _config("cleanup.policy", "")),
    ("a codec that is unknown", _config("compression.type", "rar")),
    ("a config that contradicts another", _create(configs=[
        {"name": "min.compaction.lag.ms", "value": "10"}, {"name": "max.compaction.lag.ms", "value": "5"}])),
    ("a config named twice", _create(configs=[
        {"name": "retention.ms", "value": "10"}, {"name": "retention.ms", "value": "20"}])),
    ("a topic named twice", {"topics": [*_create()["topics"], *_create()["topics"]]}),
    ("good and bad topics together", {"topics": [*_create()["topics"], *_create(name="full")["topics"]]}),
]  # fmt: skip


def _delete(name: str, **ids: Any) -> dict[str, Any]:
    return {"topics": [{"name": name, **ids}], "topic_names": [name], "timeout_ms": 5_000}


def _delete_by_id(topic_id: object, name: str | None = None) -> dict[str, Any]:
    return {"topics": [{"name": name, "topic_id": topic_id}], "timeout_ms": 5_000}


_DELETE = [
    case("delete_topics", "a topic", _delete(FRESH), before=[create()], after=[_DESCRIBED]),
    case("delete_topics", "an unknown topic", _delete("nobody")),
    case("delete_topics", "an empty name", _delete("")),
    case("delete_topics", "no topics", {}),
    case("delete_topics", "a topic named twice", before=[create()], values={
        "topics": [{"name": FRESH}, {"name": FRESH}], "topic_names": [FRESH, FRESH], "timeout_ms": 5_000}),
    case("delete_topics", "by id", _delete_by_id(Id(FRESH)), since=6, before=[create()], after=[_DESCRIBED]),
    case("delete_topics", "by an unknown id", _delete_by_id(UNKNOWN_ID), since=6),
    case("delete_topics", "by id and name", _delete_by_id(Id("full"), "full"), since=6),
    case("delete_topics", "neither id nor name", {"topics": [{}]}, since=6),
]  # fmt: skip

_METADATA = [
    case("metadata", "all topics", {"topics": None}, since=1),
    case("metadata", "no topics", {"topics": []}, since=1),
    case("metadata", "some topics", _describe("three", "full")),
    case("metadata", "a topic named twice", _describe("full", "full")),
    case("metadata", "an unknown topic", _describe("nobody", allow_auto_topic_creation=False), since=4),
    # Kafka makes it behind the client's back and says at first that it does not exist.
    case("metadata", "a topic to be made", _describe(FRESH), since=4, ignoring=["topics"], after=[_DESCRIBED]),
    case("metadata", "a bad name", _describe("a b")),
    case("metadata", "a bad name, nothing to be made", _describe("a b", allow_auto_topic_creation=False), since=4),
    case("metadata", "an empty name", _describe("")),
    case("metadata", "by id", {"topics": [{"topic_id": Id("full"), "name": None}]}, since=12),
    case("metadata", "by id, too early", {"topics": [{"topic_id": Id("full"), "name": None}]}, since=10, until=11),
    case("metadata", "by an unknown id", {"topics": [{"topic_id": UNKNOWN_ID, "name": None}]}, since=12),
    case("metadata", "by name and id", {"topics": [{"topic_id": Id("full"), "name": "full"}]}, since=12),
    case("metadata", "names and ids together",
         {"topics": [{"name": "three"}, {"name": None, "topic_id": Id("full")}]}, since=12),
    case("metadata", "authorized operations", since=8, values=_describe(
        "full", include_topic_authorized_operations=True, include_cluster_authorized_operations=True)),
    case("metadata", "authorized operations of an unknown topic", since=8, values=_describe(
        "nobody", include_topic_authorized_operations=True, allow_auto_topic_creation=False)),
]  # fmt: skip

_CURSOR = {"topic_name": "three", "partition_index": 1}

_DESCRIBE_PARTITIONS = [
    case("describe_topic_partitions", "some topics", _describe("three", "full")),
    case("describe_topic_partitions", "an unknown topic", _describe("nobody")),
    case("describe_topic_partitions", "a bad name", _describe("a b")),
    case("describe_topic_partitions", "an empty name", _describe("")),
    case("describe_topic_partitions", "a topic named twice", _describe("full", "full")),
    case("describe_topic_partitions", "all topics", {"topics": []}),
    case("describe_topic_partitions", "a first page", _describe("full", "three", response_partition_limit=2)),
    case("describe_topic_partitions", "a page of nothing", _describe("three", response_partition_limit=0)),
    case("describe_topic_partitions", "a page of less than nothing",
         _describe("three", response_partition_limit=-1)),
    case("describe_topic_partitions", "from a cursor", _describe("three", cursor=_CURSOR)),
    case("describe_topic_partitions", "a cursor after the topic", _describe("full", cursor=_CURSOR)),
    case("describe_topic_partitions", "a cursor of a topic that was not asked for",
         _describe("full", "zzz", cursor=_CURSOR)),
    case("describe_topic_partitions", "a cursor behind the last partition",
         _describe("three", cursor={"topic_name": "three", "partition_index": 9})),
    case("describe_topic_partitions", "a cursor before the first partition",
         _describe("three", cursor={"topic_name": "three", "partition_index": -1})),
]  # fmt: skip

CASES: list[Case] = [
    *(case("create_topics", name, values, after=[_DESCRIBED]) for name, values in _CREATE),
    *_DELETE,
    *_METADATA,
    *_DESCRIBE_PARTITIONS,
]
