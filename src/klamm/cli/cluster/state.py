"""ClusterState: what a cluster says of itself, gathered from a broker and, through it, from the active controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from klamm.base.ids import TopicPartition
from klamm.cli.connect import Cluster
from klamm.cli.output import CommandError, UsageError

if TYPE_CHECKING:
    from klamm.client.admin.cluster import ClusterDescription, QuorumDescription
    from klamm.client.admin.partitions import Reassignment
    from klamm.client.cluster import Cluster as Connections
    from klamm.client.metadata import Node, PartitionView

_MIN_ISR = "min.insync.replicas"
# Without an active controller nobody answers for it, and the rest is worth knowing soon.
_CONTROLLER_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ClusterState:
    """`quorum` is None, and there are no `moves`, where no controller answers; `trouble` says why."""

    alive: tuple[Node, ...]
    fenced: tuple[Node, ...]
    partitions: Mapping[TopicPartition, PartitionView]
    min_isr: Mapping[str, int] = field(default_factory=dict)
    quorum: QuorumDescription | None = None
    moves: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    trouble: str = ""

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterState:
        described, partitions, min_isr = cluster.talk("the cluster does not answer", _ask_brokers)
        quorum: QuorumDescription | None = None
        moves: dict[TopicPartition, Reassignment] = {}
        trouble = ""
        try:
            quorum, moves = cluster.talk(
                "the controllers do not answer", _ask_controller, within_s=_CONTROLLER_TIMEOUT_S
            )
        except UsageError:
            raise
        except CommandError as failure:
            trouble = f"{failure.what}: {failure.why}"
        return cls(
            alive=described.nodes,
            fenced=described.fenced,
            partitions=partitions,
            min_isr=min_isr,
            quorum=quorum,
            moves=moves,
            trouble=trouble,
        )


async def _ask_brokers(
    connections: Connections,
) -> tuple[ClusterDescription, dict[TopicPartition, PartitionView], dict[str, int]]:
    from klamm.client.admin.cluster import ClusterAdmin
    from klamm.client.admin.configs import ConfigAdmin

    described = await ClusterAdmin(connections).describe()
    partitions = await all_partitions(connections)
    names = sorted({place.topic for place in partitions})
    found = await ConfigAdmin(connections).describe_topics(names, _MIN_ISR) if names else {}
    return described, partitions, {name: int(value) for name, value in found.items() if value}


async def all_partitions(connections: Connections) -> dict[TopicPartition, PartitionView]:
    await connections.refresh(None)
    return {
        TopicPartition(name, number): partition
        for name, topic in sorted(connections.view.topics.items())
        for number, partition in topic.partitions.items()
    }


async def _ask_controller(
    connections: Connections,
) -> tuple[QuorumDescription, dict[TopicPartition, Reassignment]]:
    from klamm.client.admin.cluster import ClusterAdmin
    from klamm.client.admin.partitions import PartitionAdmin

    quorum = await ClusterAdmin(connections).quorum()
    return quorum, await PartitionAdmin(connections).reassignments()
