"""Settings of topics, brokers and groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import NamedTuple

from klamm.client.cluster import NO_SUCH_THING, Cluster
from klamm.client.errors import check
from klamm.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class ResourceKind(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Change(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Config(NamedTuple):
    """`source` is Kafka's number for where the value comes from: 1 the topic itself, 5 the default, and so on."""

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool

    @property
    def is_default(self) -> bool:
        return self.source == _DEFAULT


_DEFAULT = 5


class ConfigAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def describe(
        self, kind: ResourceKind, name: str, keys: Collection[str] | None = None
    ) -> dict[str, Config]:
        resource = DescribeConfigsResource(
            resource_type=kind,
            resource_name=name,
            configuration_keys=None if keys is None else list(keys),
        )

        async def attempt() -> dict[str, Config]:
            answer = await self._cluster.ask(
                await self._node_for(kind, name),
                DescribeConfigsRequest(resources=[resource]),
                DescribeConfigsResponse,
            )
            (found,) = answer.results
            check(found.error_code, found.error_message)
            return {
                row.name: Config(
                    row.name, row.value, row.config_source, row.read_only, row.is_sensitive
                )
                for row in found.configs
            }

        return await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def describe_topics(self, names: Collection[str], key: str) -> dict[str, str | None]:
        """One setting of many topics; a topic that went away meanwhile is left out."""
        resources = [
            DescribeConfigsResource(
                resource_type=ResourceKind.TOPIC, resource_name=name, configuration_keys=[key]
            )
            for name in names
        ]

        async def attempt() -> dict[str, str | None]:
            answer = await self._cluster.ask_any(
                DescribeConfigsRequest(resources=resources), DescribeConfigsResponse
            )
            return {
                found.resource_name: row.value
                for found in answer.results
                if not found.error_code
                for row in found.configs
            }

        return await self._cluster.persist(attempt)

    async def set(self, kind: ResourceKind, name: str, values: Mapping[str, str | None]) -> None:
        """None gives a setting its default back."""
        changes = [
            (key, Change.DELETE if value is None else Change.SET, value)
            for key, value in values.items()
        ]
        await self.alter(kind, name, changes)

    async def alter(
        self,
        kind: ResourceKind,
        name: str,
        changes: Collection[tuple[str, Change, str | None]],
        *,
        validate_only: bool = False,
    ) -> None:
        """APPEND and SUBTRACT are for settings that are lists."""
        resource = AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                AlterableConfig(name=key, config_operation=change, value=value)
                for key, change, value in changes
            ],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)

        async def attempt() -> None:
            answer = await self._cluster.ask(
                await self._node_for(kind, name), request, IncrementalAlterConfigsResponse
            )
            (changed,) = answer.responses
            check(changed.error_code, changed.error_message)

        await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def _node_for(self, kind: ResourceKind, name: str) -> int:
        """A broker answers for its own settings; anyone for the rest."""
        node_id = await self._cluster.any_node()
        is_of_a_broker = kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER) and name
        return int(name) if is_of_a_broker else node_id
