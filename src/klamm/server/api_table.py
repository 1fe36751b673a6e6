"""Which APIs are served, in the order of their keys. ApiVersions and docs/apis.md are derived from this table.

A row names the API; its handler is the file of that name in handlers/. Handlers and their messages are imported with
the first request that needs them: a broker that is asked for nothing else loads only produce and fetch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from klamm.base.errors import ApiError
from klamm.protocol.apis import API_BY_NAME, Api
from klamm.protocol.compile import Decoder, decoder
from klamm.server.call import Call, EncodedBody, Later, LongBody, Message, Steps
from klamm.server.network.pending import Parked

Reply = Message | EncodedBody | LongBody | Later | Steps | Parked | None
Handler = Callable[[Any, Call], Reply]

BROKER = (
    "produce",
    "fetch",
    "list_offsets",
    "metadata",
    "offset_commit",
    "offset_fetch",
    "find_coordinator",
    "join_group",
    "heartbeat",
    "leave_group",
    "sync_group",
    "describe_groups",
    "list_groups",
    "sasl_handshake",
    "api_versions",
    "create_topics",
    "delete_topics",
    "delete_records",
    "init_producer_id",
    "offset_for_leader_epoch",
    "add_partitions_to_txn",
    "add_offsets_to_txn",
    "end_txn",
    "write_txn_markers",
    "txn_offset_commit",
    "describe_acls",
    "create_acls",
    "delete_acls",
    "describe_configs",
    "alter_configs",
    "alter_replica_log_dirs",
    "describe_log_dirs",
    "sasl_authenticate",
    "create_partitions",
    "create_delegation_token",
    "renew_delegation_token",
    "expire_delegation_token",
    "describe_delegation_token",
    "delete_groups",
    "elect_leaders",
    "incremental_alter_configs",
    "alter_partition_reassignments",
    "list_partition_reassignments",
    "offset_delete",
    "describe_client_quotas",
    "alter_client_quotas",
    "describe_user_scram_credentials",
    "alter_user_scram_credentials",
    "describe_quorum",
    "update_features",
    "describe_cluster",
    "describe_producers",
    "unregister_broker",
    "describe_transactions",
    "list_transactions",
    "consumer_group_heartbeat",
    "consumer_group_describe",
    "list_config_resources",
    "describe_topic_partitions",
    "add_raft_voter",
    "remove_raft_voter",
)
# What nodes, and tools (--bootstrap-controller), ask of a controller's own listener.
CONTROLLER = (
    "fetch",
    "sasl_handshake",
    "api_versions",
    "create_topics",
    "delete_topics",
    "describe_acls",
    "create_acls",
    "delete_acls",
    "describe_configs",
    "alter_configs",
    "sasl_authenticate",
    "create_partitions",
    "create_delegation_token",
    "renew_delegation_token",
    "expire_delegation_token",
    "elect_leaders",
    "incremental_alter_configs",
    "alter_partition_reassignments",
    "list_partition_reassignments",
    "vote",
    "begin_quorum_epoch",
    "end_quorum_epoch",
    "alter_client_quotas",
    "alter_user_scram_credentials",
    "describe_quorum",
    "alter_partition",
    "update_features",
    "envelope",
    "fetch_snapshot",
    "describe_cluster",
    "broker_registration",
    "broker_heartbeat",
    "unregister_broker",
    "allocate_producer_ids",
    "controller_registration",
    "assign_replicas_to_dirs",
    "add_raft_voter",
    "remove_raft_voter",
    "update_raft_voter",
)

# What a broker may pass on to the controller in an Envelope.
FORWARDED = frozenset(
    {
        "add_raft_voter",
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_acls",
        "create_delegation_token",
        "create_partitions",
        "create_topics",
        "delete_acls",
        "delete_topics",
        "describe_quorum",
        "elect_leaders",
        "expire_delegation_token",
        "incremental_alter_configs",
        "list_partition_reassignments",
        "remove_raft_voter",
        "renew_delegation_token",
        "unregister_broker",
        "update_features",
    }
)
# Where the file of an API's name is the handler of brokers.
CONTROLLER_MODULES = {"fetch": "klamm.server.quorum.fetch"}

# What only nodes of the cluster may ask: the authorizer wants CLUSTER_ACTION for it.
CLUSTER_ACTION = frozenset(
    {
        "allocate_producer_ids",
        "alter_partition",
        "assign_replicas_to_dirs",
        "begin_quorum_epoch",
        "broker_heartbeat",
        "broker_registration",
        "controller_registration",
        "end_quorum_epoch",
        "envelope",
        "fetch_snapshot",
        "update_raft_voter",
        "vote",
    }
)

# Kafka advertises Produce from version 0, though it serves 3 and up: old librdkafka takes the lowest version as a sign
# of what else the broker can do, compression among it.
_ADVERTISED_LOWEST = {"produce": 0}


class Route(NamedTuple):
    """One API in one version: everything that dispatch needs, looked up once."""

    decode: Decoder[Any]
    handle: Handler
    # The request outlives its frame, which therefore must be its own: the handler waits for others, or says so.
    keeps_request: bool
    has_flexible_header: bool
    has_flexible_response_header: bool


class ServedApi:
    """A row of the table: the API's versions, and its handler once somebody asked for it."""

    __slots__ = ("_fail", "_module", "api", "key", "name", "needs_cluster_action", "routes")

    def __init__(self, name: str, module: str | None = None) -> None:
        self.name = name
        self._module = module or f"klamm.server.handlers.{name}"
        self.needs_cluster_action = name in CLUSTER_ACTION
        self.api: Api = API_BY_NAME[name]
        self.key = self.api.key
        # By version; filled by `route` with the first request of each.
        self.routes: dict[int, Route] = {}
        self._fail: Callable[[Any, ApiError, int], Message] | None = None

    @property
    def advertised_lowest(self) -> int:
        return _ADVERTISED_LOWEST.get(self.name, self.api.lowest)

    @property
    def advertised_highest(self) -> int:
        return self.api.highest_stable

    def route(self, version: int) -> Route | None:
        """None for a version that is not served."""
        if not self.api.lowest <= version <= self.api.highest_stable:
            return None
        module = import_module(self._module)
        self._fail = getattr(module, "fail", None)
        route = self.routes[version] = Route(
            decoder(self.api.request, version),
            module.handle,
            inspect.iscoroutinefunction(module.handle) or getattr(module, "KEEPS_REQUEST", False),
            self.api.request_header_version(version) == 2,
            self.api.response_header_version(version) == 1,
        )
        return route

    def fail(self, request: Any, error: ApiError, version: int) -> Message | None:
        """The response that says no to the whole request, if this API has a way to say so."""
        if self._fail is not None:
            return self._fail(request, error, version)
        response = self.api.response
        names = {field.name for field in response.SCHEMA.fields}
        if "error_code" not in names:
            return None
        message: Message = response(error_code=error.code)
        if "error_message" in names:
            message.error_message = error.message  # type: ignore[attr-defined]
        return message


def served(
    names: tuple[str, ...], modules: Mapping[str, str] = MappingProxyType({})
) -> dict[int, ServedApi]:
    """`modules`: where the handler of an API is not the file of its name, because another listener has that one."""
    apis = (ServedApi(name, modules.get(name)) for name in names)
    return {api.key: api for api in apis}
