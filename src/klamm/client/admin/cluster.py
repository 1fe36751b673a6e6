"""The cluster itself: its id, its brokers, its features."""

from __future__ import annotations

from typing import NamedTuple

from klamm.client.cluster import Cluster
from klamm.client.environment import Address
from klamm.client.errors import check
from klamm.client.metadata import Node
from klamm.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)


class ClusterDescription(NamedTuple):
    cluster_id: str
    controller_id: int | None
    nodes: tuple[Node, ...]


class ClusterAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def describe(self) -> ClusterDescription:
        async def attempt() -> ClusterDescription:
            answer = await self._cluster.ask_any(DescribeClusterRequest(), DescribeClusterResponse)
            check(answer.error_code, answer.error_message)
            nodes = (Node(b.broker_id, Address(b.host, b.port), b.rack) for b in answer.brokers)
            controller_id = answer.controller_id if answer.controller_id >= 0 else None
            return ClusterDescription(answer.cluster_id, controller_id, tuple(sorted(nodes)))

        return await self._cluster.persist(attempt)

    async def features(self) -> dict[str, int]:
        async def attempt() -> dict[str, int]:
            connection = await self._cluster.connection(await self._cluster.any_node())
            return dict(connection.features)

        return await self._cluster.persist(attempt)
