"""Topics as such, their configs, the cluster, and the rules themselves."""

from typing import Any

from klamm.base.acl import AclOperation as Op
from klamm.base.acl import AclPermission, AclResourceType, PatternType
from support.guarded.case import ABSENT, TOPIC, USER, Guarded, Id, on_cluster, on_group, on_topic

_TOPIC, _BROKER, _GROUP, _METRICS = 2, 4, 32, 16


def _metadata(topic: str = TOPIC, **more: Any) -> dict[str, Any]:
    return {
        "topics": [{"name": topic}],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
        **more,
    }


def _resource(kind: int, name: str, **more: Any) -> dict[str, Any]:
    return {"resources": [{"resource_type": kind, "resource_name": name, **more}]}


_CONFIGS = {
    "a topic": (_TOPIC, TOPIC, on_topic(Op.DESCRIBE_CONFIGS), on_topic(Op.ALTER_CONFIGS)),
    "a topic that is not there": (
        _TOPIC,
        ABSENT,
        on_topic(Op.DESCRIBE_CONFIGS, ABSENT),
        on_topic(Op.ALTER_CONFIGS, ABSENT),
    ),
    "the brokers": (_BROKER, "", on_cluster(Op.DESCRIBE_CONFIGS), on_cluster(Op.ALTER_CONFIGS)),
    "a group": (_GROUP, USER, on_group(Op.DESCRIBE_CONFIGS), on_group(Op.ALTER_CONFIGS)),
    "metrics": (_METRICS, "m", on_cluster(Op.DESCRIBE_CONFIGS), on_cluster(Op.ALTER_CONFIGS)),
}

TOPICS = [
    Guarded("of a topic", "metadata", _metadata(), (on_topic(Op.DESCRIBE),)),
    Guarded(
        "of a topic by id",
        "metadata",
        _metadata(topics=[{"name": None, "topic_id": Id(TOPIC)}]),
        (on_topic(Op.DESCRIBE),),
    ),
    Guarded(
        "of a topic that is not there",
        "metadata",
        _metadata(ABSENT),
        (on_topic(Op.DESCRIBE, ABSENT),),
    ),
    Guarded(
        "of a topic that is made by it",
        "metadata",
        _metadata(f"made-by-{USER}", allow_auto_topic_creation=True),
        (
            on_topic(Op.DESCRIBE, f"made-by-{USER}"),
            on_topic(Op.CREATE, f"made-by-{USER}"),
        ),
    ),
    Guarded("of all topics", "metadata", _metadata(topics=None), hides=TOPIC),
    Guarded(
        "of the cluster",
        "metadata",
        _metadata(topics=[], include_cluster_authorized_operations=True),
        any_of=(on_cluster(Op.DESCRIBE),),
        version=10,
    ),
    Guarded(
        "one", "describe_topic_partitions", {"topics": [{"name": TOPIC}]}, (on_topic(Op.DESCRIBE),)
    ),
    Guarded("all", "describe_topic_partitions", {"topics": []}, hides=TOPIC),
    Guarded(
        "one",
        "create_topics",
        {"topics": [{"name": f"new-{USER}", "num_partitions": 1, "replication_factor": 1}]},
        any_of=(on_topic(Op.CREATE, f"new-{USER}"), on_cluster(Op.CREATE)),
    ),
    Guarded(
        "by name",
        "delete_topics",
        {"topics": [{"name": USER}], "timeout_ms": 10_000},
        (on_topic(Op.DELETE, USER),),
        makes_topic=True,
    ),
    Guarded(
        "by name, seen",
        "delete_topics",
        {"topics": [{"name": TOPIC}], "timeout_ms": 10_000},
        not_enough=(on_topic(Op.DESCRIBE),),
    ),
    Guarded(
        "by id",
        "delete_topics",
        {"topics": [{"name": None, "topic_id": Id(USER)}], "timeout_ms": 10_000},
        (on_topic(Op.DELETE, USER),),
        makes_topic=True,
    ),
    Guarded(
        "by id, seen",
        "delete_topics",
        {"topics": [{"name": None, "topic_id": Id(TOPIC)}], "timeout_ms": 10_000},
        not_enough=(on_topic(Op.DESCRIBE),),
    ),
    Guarded(
        "that is not there",
        "delete_topics",
        {"topics": [{"name": ABSENT}], "timeout_ms": 10_000},
        (on_topic(Op.DELETE, ABSENT),),
    ),
    Guarded(
        "more",
        "create_partitions",
        {"topics": [{"name": USER, "count": 2}], "timeout_ms": 5_000, "validate_only": True},
        (on_topic(Op.ALTER, USER),),
        makes_topic=True,
    ),
]

CONFIGS = [
    *(
        Guarded(name, "describe_configs", _resource(kind, resource), (describe,))
        for name, (kind, resource, describe, _) in _CONFIGS.items()
    ),
    *(
        Guarded(
            name,
            "incremental_alter_configs",
            {**_resource(kind, resource, configs=[]), "validate_only": True},
            (alter,),
        )
        for name, (kind, resource, _, alter) in _CONFIGS.items()
    ),
    *(
        Guarded(
            name,
            "alter_configs",
            {**_resource(kind, resource, configs=[]), "validate_only": True},
            (alter,),
        )
        for name, (kind, resource, _, alter) in _CONFIGS.items()
    ),
    Guarded("all", "describe_client_quotas", {}, (on_cluster(Op.DESCRIBE_CONFIGS),)),
    Guarded(
        "none",
        "alter_client_quotas",
        {
            "entries": [{"entity": [{"entity_type": "user", "entity_name": "a"}], "ops": []}],
            "validate_only": True,
        },
        (on_cluster(Op.ALTER_CONFIGS),),
    ),
    Guarded("all", "list_config_resources", {}, (on_cluster(Op.DESCRIBE_CONFIGS),)),
]

_FILTER = {
    "resource_type_filter": AclResourceType.TOPIC,
    "resource_name_filter": "nobody-has-this-name",
    "pattern_type_filter": PatternType.LITERAL,
    "principal_filter": None,
    "host_filter": None,
    "operation": Op.ANY,
    "permission_type": AclPermission.ANY,
}
_ACL = {
    "resource_type": AclResourceType.TOPIC,
    "resource_name": "whatever",
    "resource_pattern_type": PatternType.LITERAL,
    "principal": "User:nobody",
    "host": "*",
    "operation": Op.READ,
    "permission_type": AclPermission.ALLOW,
}

CLUSTER = [
    Guarded("some", "describe_acls", _FILTER, (on_cluster(Op.DESCRIBE),)),
    Guarded("one", "create_acls", {"creations": [_ACL]}, (on_cluster(Op.ALTER),)),
    Guarded("none", "delete_acls", {"filters": [_FILTER]}, (on_cluster(Op.ALTER),)),
    Guarded(
        "nobody's",
        "describe_user_scram_credentials",
        {"users": [{"name": "nobody"}]},
        (on_cluster(Op.DESCRIBE),),
    ),
    Guarded(
        "nobody's",
        "alter_user_scram_credentials",
        {"deletions": [{"name": "nobody", "mechanism": 1}]},
        (on_cluster(Op.ALTER),),
    ),
    Guarded(
        "to nowhere",
        "alter_replica_log_dirs",
        {"dirs": [{"path": "/nowhere", "topics": [{"name": TOPIC, "partitions": [0]}]}]},
        (on_cluster(Op.ALTER),),
    ),
    Guarded("of none", "describe_log_dirs", {"topics": []}, (on_cluster(Op.DESCRIBE),)),
    Guarded(
        "of a topic",
        "elect_leaders",
        {"topic_partitions": [{"topic": ABSENT, "partitions": [0]}]},
        (on_cluster(Op.ALTER),),
    ),
    Guarded(
        "of a topic that is not there",
        "alter_partition_reassignments",
        {"topics": [{"name": ABSENT, "partitions": [{"partition_index": 0, "replicas": [1]}]}]},
        (on_cluster(Op.ALTER),),
    ),
    Guarded("all", "list_partition_reassignments", {}, (on_cluster(Op.DESCRIBE),)),
    Guarded(
        "the log",
        "describe_quorum",
        {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
        (on_cluster(Op.DESCRIBE),),
    ),
    Guarded(
        "nothing",
        "update_features",
        {"feature_updates": [], "validate_only": True},
        (on_cluster(Op.ALTER),),
    ),
    Guarded(
        "one that is not there", "unregister_broker", {"broker_id": 4_711}, (on_cluster(Op.ALTER),)
    ),
    Guarded(
        "its operations",
        "describe_cluster",
        {"include_cluster_authorized_operations": True},
        any_of=(on_cluster(Op.DESCRIBE),),
    ),
    Guarded(
        "of another cluster",
        "add_raft_voter",
        {"cluster_id": "another", "voter_id": 4_711, "listeners": []},
        (on_cluster(Op.ALTER),),
    ),
    Guarded(
        "of another cluster",
        "remove_raft_voter",
        {"cluster_id": "another", "voter_id": 4_711},
        (on_cluster(Op.ALTER),),
    ),
]
