"""Topics and their records; groups; transactions."""

from typing import Any

from klamm.base.acl import AclOperation as Op
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from support.guarded.case import (
    ABSENT,
    TOPIC,
    USER,
    Guarded,
    Id,
    Right,
    on_cluster,
    on_group,
    on_topic,
    on_transaction,
)

# Versions in which topics have names, and the last one of clients.
_PRODUCE_BY_NAME, _FETCH_BY_NAME, _COMMIT_BY_NAME, _ADD_OF_CLIENTS = 12, 12, 9, 3


def _batch(**header: Any) -> bytes:
    return bytes(build_batch([Record(0, 1_000, b"key", b"value", [])], **header))


def _produce(topic: str = TOPIC, batch: bytes = b"", **more: Any) -> dict[str, Any]:
    data = {"index": 0, "records": batch or _batch()}
    named = {"name": topic, "partition_data": [data]}
    if topic != ABSENT:
        named["topic_id"] = Id(topic)
    return {"acks": -1, "timeout_ms": 5_000, "topic_data": [named], **more}


def _fetch(topic: str = TOPIC, **more: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    named: dict[str, Any] = {"topic": topic, "partitions": [partition]}
    if topic != ABSENT:
        named["topic_id"] = Id(topic)
    return {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1_000, "topics": [named], **more}


def _commit(topic: str = TOPIC) -> dict[str, Any]:
    partition = {"partition_index": 0, "committed_offset": 1}
    return {
        "group_id": USER,
        "topics": [{"name": topic, "topic_id": Id(TOPIC), "partitions": [partition]}],
    }


_PRODUCER = {"producer_id": 4_711, "producer_epoch": 0}
_ADD_TOPICS = [{"name": TOPIC, "partitions": [0]}]
_COMMITTING = (on_group(Op.READ), on_topic(Op.READ))
_TXN = on_transaction(Op.WRITE)
_COORDINATOR: dict[str, Right] = {
    "group": on_group(Op.DESCRIBE),
    "transaction": on_transaction(Op.DESCRIBE),
}

TOPICS = [
    Guarded("by id", "produce", _produce(), (on_topic(Op.WRITE),)),
    Guarded("by name", "produce", _produce(), (on_topic(Op.WRITE),), version=_PRODUCE_BY_NAME),
    Guarded(
        "to a topic that is not there",
        "produce",
        _produce(ABSENT),
        (on_topic(Op.WRITE, ABSENT),),
        version=_PRODUCE_BY_NAME,
    ),
    Guarded(
        "in a transaction",
        "produce",
        _produce(
            batch=_batch(base_sequence=0, transactional=True, **_PRODUCER),
            transactional_id=USER,
        ),
        (on_topic(Op.WRITE), _TXN),
        version=11,
    ),
    Guarded("by id", "fetch", _fetch(), (on_topic(Op.READ),)),
    Guarded("by name", "fetch", _fetch(), (on_topic(Op.READ),), version=_FETCH_BY_NAME),
    Guarded(
        "of a topic that is not there",
        "fetch",
        _fetch(ABSENT),
        (on_topic(Op.READ, ABSENT),),
        version=_FETCH_BY_NAME,
    ),
    Guarded(
        "as a replica",
        "fetch",
        _fetch(replica_id=4_711),
        (on_cluster(Op.CLUSTER_ACTION),),
        version=_FETCH_BY_NAME,
    ),
    Guarded(
        "the end",
        "list_offsets",
        {
            "replica_id": -1,
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "timestamp": -1}]}],
        },
        (on_topic(Op.DESCRIBE),),
    ),
    Guarded(
        "one",
        "offset_for_leader_epoch",
        {"replica_id": -1, "topics": [{"topic": TOPIC, "partitions": [{"partition": 0}]}]},
        any_of=(on_topic(Op.DESCRIBE), on_cluster(Op.CLUSTER_ACTION)),
    ),
    Guarded(
        "none",
        "delete_records",
        {
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}],
            "timeout_ms": 5_000,
        },
        (on_topic(Op.DELETE),),
    ),
    Guarded(
        "of a partition",
        "describe_producers",
        {"topics": [{"name": TOPIC, "partition_indexes": [0]}]},
        (on_topic(Op.READ),),
    ),
]

GROUPS = [
    Guarded(
        "of a group",
        "find_coordinator",
        {"key_type": 0, "coordinator_keys": [USER]},
        (_COORDINATOR["group"],),
    ),
    Guarded(
        "of a transactional id",
        "find_coordinator",
        {"key_type": 1, "coordinator_keys": [USER]},
        (_COORDINATOR["transaction"],),
    ),
    Guarded(
        "of a group, alone",
        "find_coordinator",
        {"key_type": 0, "key": USER},
        (_COORDINATOR["group"],),
        version=3,
    ),
    Guarded("by id", "offset_commit", _commit(), _COMMITTING),
    Guarded("by name", "offset_commit", _commit(), _COMMITTING, version=_COMMIT_BY_NAME),
    Guarded(
        "some",
        "offset_fetch",
        {"groups": [{"group_id": USER, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}]},
        (on_group(Op.DESCRIBE), on_topic(Op.DESCRIBE)),
        version=9,
    ),
    Guarded(
        "all",
        "offset_fetch",
        {"groups": [{"group_id": USER, "topics": None}]},
        (on_group(Op.DESCRIBE),),
    ),
    Guarded(
        "some, of one group",
        "offset_fetch",
        {"group_id": USER, "topics": [{"name": TOPIC, "partition_indexes": [0]}]},
        (on_group(Op.DESCRIBE), on_topic(Op.DESCRIBE)),
        version=5,
    ),
    Guarded(
        "a group",
        "join_group",
        {
            "group_id": USER,
            "session_timeout_ms": 10_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
        (on_group(Op.READ),),
    ),
    Guarded(
        "nobody's",
        "sync_group",
        {
            "group_id": USER,
            "member_id": "nobody",
            "protocol_type": "consumer",
            "protocol_name": "range",
        },
        (on_group(Op.READ),),
    ),
    Guarded(
        "nobody's", "heartbeat", {"group_id": USER, "member_id": "nobody"}, (on_group(Op.READ),)
    ),
    Guarded(
        "nobody",
        "leave_group",
        {"group_id": USER, "members": [{"member_id": "nobody"}]},
        (on_group(Op.READ),),
    ),
    Guarded(
        "one",
        "describe_groups",
        {"groups": [USER], "include_authorized_operations": True},
        (on_group(Op.DESCRIBE),),
    ),
    Guarded("one", "delete_groups", {"groups_names": [USER]}, (on_group(Op.DELETE),)),
    Guarded(
        "one",
        "offset_delete",
        {
            "group_id": "b-group",
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}],
        },
        (on_group(Op.DELETE, "b-group"), on_topic(Op.READ)),
    ),
    Guarded(
        "a member",
        "consumer_group_heartbeat",
        {
            "group_id": USER,
            "member_id": "0001",
            "rebalance_timeout_ms": 5_000,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        },
        (on_group(Op.READ), on_topic(Op.DESCRIBE)),
    ),
    Guarded(
        "one",
        "consumer_group_describe",
        {"group_ids": [USER], "include_authorized_operations": True},
        (on_group(Op.DESCRIBE),),
    ),
    Guarded(
        "all",
        "list_groups",
        {},
        any_of=(on_group(Op.DESCRIBE, "a-group"), on_cluster(Op.DESCRIBE)),
        hides="a-group",
    ),
]

TRANSACTIONS = [
    Guarded(
        "idempotent",
        "init_producer_id",
        {"transactional_id": None, "transaction_timeout_ms": 60_000},
        any_of=(on_cluster(Op.IDEMPOTENT_WRITE), on_topic(Op.WRITE)),
    ),
    Guarded(
        "transactional",
        "init_producer_id",
        {"transactional_id": USER, "transaction_timeout_ms": 60_000},
        (_TXN,),
    ),
    Guarded(
        "of a client",
        "add_partitions_to_txn",
        {
            "v3_and_below_transactional_id": USER,
            "v3_and_below_producer_id": 4_711,
            "v3_and_below_topics": _ADD_TOPICS,
        },
        (_TXN, on_topic(Op.WRITE)),
        version=_ADD_OF_CLIENTS,
    ),
    Guarded(
        "of a broker",
        "add_partitions_to_txn",
        {"transactions": [{"transactional_id": USER, "topics": _ADD_TOPICS, **_PRODUCER}]},
        (on_cluster(Op.CLUSTER_ACTION),),
    ),
    Guarded(
        "of a group",
        "add_offsets_to_txn",
        {"transactional_id": USER, "group_id": USER, **_PRODUCER},
        (_TXN, on_group(Op.READ)),
    ),
    Guarded(
        "of a group",
        "txn_offset_commit",
        {
            "transactional_id": USER,
            "group_id": USER,
            **_PRODUCER,
            "topics": [
                {"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 1}]}
            ],
        },
        (_TXN, on_group(Op.READ), on_topic(Op.READ)),
        version=3,
    ),
    Guarded(
        "nobody's", "end_txn", {"transactional_id": USER, "committed": True, **_PRODUCER}, (_TXN,)
    ),
    Guarded(
        "nobody's",
        "write_txn_markers",
        {
            "markers": [
                {
                    **_PRODUCER,
                    "transaction_result": False,
                    "topics": [{"name": ABSENT, "partition_indexes": [0]}],
                }
            ]
        },
        any_of=(on_cluster(Op.ALTER), on_cluster(Op.CLUSTER_ACTION)),
    ),
    Guarded(
        "one",
        "describe_transactions",
        {"transactional_ids": [USER]},
        (on_transaction(Op.DESCRIBE),),
    ),
    Guarded(
        "all",
        "list_transactions",
        {},
        hides="a-transaction",
    ),
]
