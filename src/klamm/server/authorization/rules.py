"""Which rights each API asks for. tests/tidy holds it against the handlers: an API without a row is not served.

Where several stand in a row, the handler says whether all are needed or one is enough, and what is hidden without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from klamm.server.authorization.rights import (
    ALTER_CLUSTER,
    ALTER_CLUSTER_CONFIGS,
    ALTER_GROUP_CONFIGS,
    ALTER_TOPIC,
    ALTER_TOPIC_CONFIGS,
    CLUSTER_ACTION,
    CREATE_CLUSTER,
    CREATE_TOKENS,
    CREATE_TOPIC,
    DELETE_CLUSTER,
    DELETE_GROUP,
    DELETE_TOPIC,
    DESCRIBE_CLUSTER,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_GROUP,
    DESCRIBE_GROUP_CONFIGS,
    DESCRIBE_TOKEN,
    DESCRIBE_TOKENS,
    DESCRIBE_TOPIC,
    DESCRIBE_TOPIC_CONFIGS,
    DESCRIBE_TRANSACTIONAL_ID,
    IDEMPOTENT_WRITE,
    READ_GROUP,
    READ_TOPIC,
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
    Right,
)

# Everybody may: what a client asks before it is somebody, and what tells nothing.
OPEN = frozenset(
    {
        "api_versions",
        "sasl_handshake",
        "sasl_authenticate",
        # Whose token it is may: the controller looks at that.
        "renew_delegation_token",
        "expire_delegation_token",
    }
)

_DESCRIBING = (DESCRIBE_TOPIC_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_CLUSTER_CONFIGS)
_ALTERING = (ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS)

RULES: Mapping[str, tuple[Right, ...]] = MappingProxyType(
    {
        # Records
        "produce": (WRITE_TOPIC, WRITE_TRANSACTIONAL_ID),
        "fetch": (READ_TOPIC, CLUSTER_ACTION),
        "list_offsets": (DESCRIBE_TOPIC,),
        "delete_records": (DELETE_TOPIC,),
        "offset_for_leader_epoch": (DESCRIBE_TOPIC, CLUSTER_ACTION),
        "describe_producers": (READ_TOPIC,),
        # Groups
        "find_coordinator": (DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID),
        "offset_commit": (READ_GROUP, READ_TOPIC),
        "offset_fetch": (DESCRIBE_GROUP, DESCRIBE_TOPIC),
        "offset_delete": (DELETE_GROUP, READ_TOPIC),
        "join_group": (READ_GROUP,),
        "sync_group": (READ_GROUP,),
        "heartbeat": (READ_GROUP,),
        "leave_group": (READ_GROUP,),
        "describe_groups": (DESCRIBE_GROUP,),
        "list_groups": (DESCRIBE_CLUSTER, DESCRIBE_GROUP),
        "delete_groups": (DELETE_GROUP,),
        "consumer_group_heartbeat": (READ_GROUP, DESCRIBE_TOPIC),
        "consumer_group_describe": (DESCRIBE_GROUP, DESCRIBE_TOPIC),
        # Transactions
        "init_producer_id": (WRITE_TRANSACTIONAL_ID, IDEMPOTENT_WRITE, WRITE_TOPIC),
        "add_partitions_to_txn": (WRITE_TRANSACTIONAL_ID, WRITE_TOPIC, CLUSTER_ACTION),
        "add_offsets_to_txn": (WRITE_TRANSACTIONAL_ID, READ_GROUP),
        "txn_offset_commit": (WRITE_TRANSACTIONAL_ID, READ_GROUP, READ_TOPIC),
        "end_txn": (WRITE_TRANSACTIONAL_ID,),
        "write_txn_markers": (ALTER_CLUSTER, CLUSTER_ACTION),
        "describe_transactions": (DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC),
        "list_transactions": (DESCRIBE_TRANSACTIONAL_ID,),
        # Topics and configs
        "metadata": (DESCRIBE_TOPIC, CREATE_TOPIC, CREATE_CLUSTER),
        "describe_topic_partitions": (DESCRIBE_TOPIC,),
        "create_topics": (CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS),
        "delete_topics": (DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC),
        "create_partitions": (ALTER_TOPIC,),
        "describe_configs": _DESCRIBING,
        "alter_configs": _ALTERING,
        "incremental_alter_configs": _ALTERING,
        "list_config_resources": (DESCRIBE_CLUSTER_CONFIGS,),
        # The cluster
        "describe_cluster": (ALTER_CLUSTER, DESCRIBE_CLUSTER),
        "describe_acls": (DESCRIBE_CLUSTER,),
        "create_acls": (ALTER_CLUSTER,),
        "delete_acls": (ALTER_CLUSTER,),
        "describe_user_scram_credentials": (DESCRIBE_CLUSTER,),
        "alter_user_scram_credentials": (ALTER_CLUSTER,),
        "describe_client_quotas": (DESCRIBE_CLUSTER_CONFIGS,),
        "alter_client_quotas": (ALTER_CLUSTER_CONFIGS,),
        "describe_log_dirs": (DESCRIBE_CLUSTER,),
        "alter_replica_log_dirs": (ALTER_CLUSTER,),
        "elect_leaders": (ALTER_CLUSTER,),
        "alter_partition_reassignments": (ALTER_CLUSTER,),
        "list_partition_reassignments": (DESCRIBE_CLUSTER,),
        "describe_quorum": (DESCRIBE_CLUSTER,),
        "update_features": (ALTER_CLUSTER,),
        "unregister_broker": (ALTER_CLUSTER,),
        "add_raft_voter": (ALTER_CLUSTER,),
        "remove_raft_voter": (ALTER_CLUSTER,),
        "create_delegation_token": (CREATE_TOKENS,),
        "describe_delegation_token": (DESCRIBE_TOKEN, DESCRIBE_TOKENS),
        # Nodes among themselves: dispatch asks for it
        "allocate_producer_ids": (CLUSTER_ACTION,),
        "alter_partition": (CLUSTER_ACTION,),
        "assign_replicas_to_dirs": (CLUSTER_ACTION,),
        "begin_quorum_epoch": (CLUSTER_ACTION,),
        "broker_heartbeat": (CLUSTER_ACTION,),
        "broker_registration": (CLUSTER_ACTION,),
        "controller_registration": (CLUSTER_ACTION,),
        "end_quorum_epoch": (CLUSTER_ACTION,),
        "envelope": (CLUSTER_ACTION,),
        "fetch_snapshot": (CLUSTER_ACTION,),
        "update_raft_voter": (CLUSTER_ACTION,),
        "vote": (CLUSTER_ACTION,),
    }
)

# What an administrator does: noted in the audit.
ADMINISTRATIVE = frozenset(
    {
        "add_raft_voter",
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_replica_log_dirs",
        "alter_user_scram_credentials",
        "create_acls",
        "create_delegation_token",
        "create_partitions",
        "create_topics",
        "delete_acls",
        "delete_groups",
        "delete_records",
        "delete_topics",
        "elect_leaders",
        "expire_delegation_token",
        "incremental_alter_configs",
        "offset_delete",
        "remove_raft_voter",
        "renew_delegation_token",
        "unregister_broker",
        "update_features",
    }
)
