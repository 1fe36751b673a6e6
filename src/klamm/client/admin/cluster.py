"""The cluster itself: its id, its brokers, its features, its quorum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from klamm.base.ids import METADATA_TOPIC
from klamm.client.cluster import Cluster
from klamm.client.environment import Address
from klamm.client.errors import check
from klamm.client.metadata import Node
from klamm.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    ReplicaState,
)
from klamm.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


class ClusterDescription(NamedTuple):
    """`nodes` are those that live; `fenced` those that are registered and do not, or not yet."""

    cluster_id: str
    controller_id: int | None
    nodes: tuple[Node, ...]
    fenced: tuple[Node, ...] = ()


class QuorumReplica(NamedTuple):
    """How far a node has the metadata log; times in milliseconds, -1 where nobody knows."""

    node_id: int
    end_offset: int
    last_fetch: int
    last_caught_up: int


class QuorumDescription(NamedTuple):
    leader_id: int
    epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class ClusterAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def describe(self) -> ClusterDescription:
        async def attempt() -> ClusterDescription:
            request = DescribeClusterRequest(include_fenced_brokers=True)
            answer = await self._cluster.ask_any(request, DescribeClusterResponse)
            check(answer.error_code, answer.error_message)
            controller_id = answer.controller_id if answer.controller_id >= 0 else None
            return ClusterDescription(
                answer.cluster_id,
                controller_id,
                nodes=_nodes(each for each in answer.brokers if not each.is_fenced),
                fenced=_nodes(each for each in answer.brokers if each.is_fenced),
            )

        return await self._cluster.persist(attempt)

    async def features(self) -> dict[str, int]:
        async def attempt() -> dict[str, int]:
            connection = await self._cluster.connection(await self._cluster.any_node())
            return dict(connection.features)

        return await self._cluster.persist(attempt)

    async def quorum(self) -> QuorumDescription:
        partition = DescribeQuorumRequestPartitionData(partition_index=0)
        topic = DescribeQuorumRequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        request = DescribeQuorumRequest(topics=[topic])

        async def attempt() -> QuorumDescription:
            answer = await self._cluster.ask_any(request, DescribeQuorumResponse)
            check(answer.error_code, answer.error_message)
            (found,) = answer.topics[0].partitions
            check(found.error_code, found.error_message)
            return QuorumDescription(
                found.leader_id,
                found.leader_epoch,
                found.high_watermark,
                tuple(map(_replica, found.current_voters)),
                tuple(map(_replica, found.observers)),
            )

        return await self._cluster.persist(attempt)

    async def unregister(self, broker_id: int) -> None:
        async def attempt() -> None:
            answer = await self._cluster.ask_any(
                UnregisterBrokerRequest(broker_id=broker_id), UnregisterBrokerResponse
            )
            check(answer.error_code, answer.error_message)

        await self._cluster.persist(attempt)


def _nodes(brokers: Iterable[DescribeClusterBroker]) -> tuple[Node, ...]:
    return tuple(sorted(Node(b.broker_id, Address(b.host, b.port), b.rack) for b in brokers))


def _replica(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )
