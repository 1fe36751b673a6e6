"""Which APIs there are: keys, names, versions and listeners, without loading a single message.

Message classes are imported when `request` or `response` is first asked for. Keys 4 to 7 belonged to ZooKeeper's time
and are gone.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple

Listener = Literal["broker", "controller"]

_B: tuple[Listener, ...] = ("broker",)
_C: tuple[Listener, ...] = ("controller",)
_BC: tuple[Listener, ...] = ("broker", "controller")
_API_VERSIONS = 18


class Api(NamedTuple):
    """One row. `name` is also the name of the module in messages/ that declares the API."""

    key: int
    name: str
    lowest: int
    highest_stable: int
    flexible_since: int | None
    listeners: tuple[Listener, ...]
    # A version that is declared but still being worked on; it is not advertised.
    unstable: int | None = None

    @property
    def highest(self) -> int:
        """The newest version that is declared, stable or not."""
        return self.highest_stable if self.unstable is None else self.unstable

    @property
    def title(self) -> str:
        """The name as Kafka writes it: ListOffsets."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def request(self) -> type[Any]:
        return self._load("Request")

    @property
    def response(self) -> type[Any]:
        return self._load("Response")

    def is_flexible(self, version: int) -> bool:
        return self.flexible_since is not None and version >= self.flexible_since

    def request_header_version(self, version: int) -> int:
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """ApiVersions is answered with the oldest header: a client that asks does not know yet what we speak."""
        return 1 if self.is_flexible(version) and self.key != _API_VERSIONS else 0

    def _load(self, ending: str) -> type[Any]:
        module = import_module(f"klamm.protocol.messages.{self.name}")
        cls: type[Any] = getattr(module, self.title + ending)
        return cls


# key, name, lowest and highest version, first flexible version, listeners
_TABLE = (
    Api(0, "produce", 3, 13, 9, _B),
    Api(1, "fetch", 4, 18, 12, _BC),
    Api(2, "list_offsets", 1, 11, 6, _B),
    Api(3, "metadata", 0, 13, 9, _B),
    Api(8, "offset_commit", 2, 10, 8, _B),
    Api(9, "offset_fetch", 1, 10, 6, _B),
    Api(10, "find_coordinator", 0, 6, 3, _B),
    Api(11, "join_group", 0, 9, 6, _B),
    Api(12, "heartbeat", 0, 4, 4, _B),
    Api(13, "leave_group", 0, 5, 4, _B),
    Api(14, "sync_group", 0, 5, 4, _B),
    Api(15, "describe_groups", 0, 6, 5, _B),
    Api(16, "list_groups", 0, 5, 3, _B),
    Api(17, "sasl_handshake", 0, 1, None, _BC),
    Api(18, "api_versions", 0, 4, 3, _BC),
    Api(19, "create_topics", 2, 7, 5, _BC),
    Api(20, "delete_topics", 1, 6, 4, _BC),
    Api(21, "delete_records", 0, 2, 2, _B),
    Api(22, "init_producer_id", 0, 5, 2, _B, unstable=6),
    Api(23, "offset_for_leader_epoch", 2, 4, 4, _B),
    Api(24, "add_partitions_to_txn", 0, 5, 3, _B),
    Api(25, "add_offsets_to_txn", 0, 4, 3, _B),
    Api(26, "end_txn", 0, 5, 3, _B),
    Api(27, "write_txn_markers", 1, 2, 1, _B),
    Api(28, "txn_offset_commit", 0, 5, 3, _B),
    Api(29, "describe_acls", 1, 3, 2, _BC),
    Api(30, "create_acls", 1, 3, 2, _BC),
    Api(31, "delete_acls", 1, 3, 2, _BC),
    Api(32, "describe_configs", 1, 4, 4, _BC),
    Api(33, "alter_configs", 0, 2, 2, _BC),
    Api(34, "alter_replica_log_dirs", 1, 2, 2, _B),
    Api(35, "describe_log_dirs", 1, 5, 2, _B),
    Api(36, "sasl_authenticate", 0, 2, 2, _BC),
    Api(37, "create_partitions", 0, 3, 2, _BC),
    Api(38, "create_delegation_token", 1, 3, 2, _BC),
    Api(39, "renew_delegation_token", 1, 2, 2, _BC),
    Api(40, "expire_delegation_token", 1, 2, 2, _BC),
    Api(41, "describe_delegation_token", 1, 3, 2, _BC),
    Api(42, "delete_groups", 0, 2, 2, _B),
    Api(43, "elect_leaders", 0, 2, 2, _BC),
    Api(44, "incremental_alter_configs", 0, 1, 1, _BC),
    Api(45, "alter_partition_reassignments", 0, 1, 0, _BC),
    Api(46, "list_partition_reassignments", 0, 0, 0, _BC),
    Api(47, "offset_delete", 0, 0, None, _B),
    Api(48, "describe_client_quotas", 0, 1, 1, _B),
    Api(49, "alter_client_quotas", 0, 1, 1, _BC),
    Api(50, "describe_user_scram_credentials", 0, 0, 0, _BC),
    Api(51, "alter_user_scram_credentials", 0, 0, 0, _BC),
    Api(52, "vote", 0, 2, 0, _C),
    Api(53, "begin_quorum_epoch", 0, 1, 1, _C),
    Api(54, "end_quorum_epoch", 0, 1, 1, _C),
    Api(55, "describe_quorum", 0, 2, 0, _BC),
    Api(56, "alter_partition", 2, 3, 0, _C),
    Api(57, "update_features", 0, 2, 0, _BC),
    Api(58, "envelope", 0, 0, 0, _C),
    Api(59, "fetch_snapshot", 0, 1, 0, _C),
    Api(60, "describe_cluster", 0, 2, 0, _BC),
    Api(61, "describe_producers", 0, 0, 0, _B),
    Api(62, "broker_registration", 0, 4, 0, _C),
    Api(63, "broker_heartbeat", 0, 2, 0, _C),
    Api(64, "unregister_broker", 0, 0, 0, _BC),
    Api(65, "describe_transactions", 0, 0, 0, _B),
    Api(66, "list_transactions", 0, 2, 0, _B),
    Api(67, "allocate_producer_ids", 0, 0, 0, _C),
    Api(68, "consumer_group_heartbeat", 0, 1, 0, _B),
    Api(69, "consumer_group_describe", 0, 1, 0, _B),
    Api(70, "controller_registration", 0, 0, 0, _C),
    Api(71, "get_telemetry_subscriptions", 0, 0, 0, _B),
    Api(72, "push_telemetry", 0, 0, 0, _B),
    Api(73, "assign_replicas_to_dirs", 0, 0, 0, _C),
    Api(74, "list_config_resources", 0, 1, 0, _B),
    Api(75, "describe_topic_partitions", 0, 0, 0, _B),
    Api(76, "share_group_heartbeat", 1, 1, 0, _B),
    Api(77, "share_group_describe", 1, 1, 0, _B),
    Api(78, "share_fetch", 1, 2, 0, _B),
    Api(79, "share_acknowledge", 1, 2, 0, _B),
    Api(80, "add_raft_voter", 0, 1, 0, _BC),
    Api(81, "remove_raft_voter", 0, 0, 0, _BC),
    Api(82, "update_raft_voter", 0, 0, 0, _C),
    Api(83, "initialize_share_group_state", 0, 0, 0, _B),
    Api(84, "read_share_group_state", 0, 0, 0, _B),
    Api(85, "write_share_group_state", 0, 1, 0, _B),
    Api(86, "delete_share_group_state", 0, 0, 0, _B),
    Api(87, "read_share_group_state_summary", 0, 1, 0, _B),
    Api(88, "streams_group_heartbeat", 0, 0, 0, _B),
    Api(89, "streams_group_describe", 0, 0, 0, _B),
    Api(90, "describe_share_group_offsets", 0, 1, 0, _B),
    Api(91, "alter_share_group_offsets", 0, 0, 0, _B),
    Api(92, "delete_share_group_offsets", 0, 0, 0, _B),
)

APIS = {api.key: api for api in _TABLE}
API_BY_NAME = {api.name: api for api in _TABLE}


def request_header_version(key: int, version: int) -> int:
    return APIS[key].request_header_version(version)


def response_header_version(key: int, version: int) -> int:
    return APIS[key].response_header_version(version)
