"""What a client knows of the cluster, and how an answer to Metadata changes it. Facts only; nothing is asked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from klamm.base.errors import ErrorCode, code_of
from klamm.base.ids import ZERO_UUID, TopicPartition, Uuid
from klamm.client.environment import Address
from klamm.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic


class Node(NamedTuple):
    node_id: int
    address: Address
    rack: str | None


class PartitionView(NamedTuple):
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: Uuid
    partitions: Mapping[int, PartitionView]
    is_internal: bool = False

    @property
    def count(self) -> int:
        return len(self.partitions)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Replaced as a whole when something new is learnt. `topics` holds those that somebody asked about."""

    cluster_id: str | None = None
    controller_id: int | None = None
    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: Mapping[str, TopicView] = field(default_factory=dict)
    # Why a topic is not among `topics`.
    errors: Mapping[str, ErrorCode] = field(default_factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionView | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def name_of(self, topic_id: Uuid) -> str | None:
        return next((t.name for t in self.topics.values() if t.topic_id == topic_id), None)

    def with_leader(
        self, partition: TopicPartition, leader: int, leader_epoch: int, nodes: Iterable[Node]
    ) -> ClusterView:
        """What a broker says in passing when it does not lead the partition (KIP-951); self if that is not new."""
        topic = self.topics.get(partition.topic)
        known = self.partition(partition)
        if topic is None or known is None or leader_epoch <= known.leader_epoch:
            return self
        all_nodes = {**self.nodes, **{node.node_id: node for node in nodes}}
        if leader not in all_nodes:
            return self
        newer = known._replace(leader=leader, leader_epoch=leader_epoch)
        partitions = {**topic.partitions, partition.partition: newer}
        topics = {**self.topics, partition.topic: replace(topic, partitions=partitions)}
        return replace(self, nodes=all_nodes, topics=topics)

    def absorb(self, answer: MetadataResponse, *, is_complete: bool) -> ClusterView:
        """`is_complete`: the answer is about all topics, so those it does not name are gone."""
        topics = {} if is_complete else dict(self.topics)
        errors = {} if is_complete else dict(self.errors)
        for found in answer.topics:
            name = found.name or ""
            errors.pop(name, None)
            if found.error_code:
                topics.pop(name, None)
                errors[name] = code_of(found.error_code)
            else:
                topics[name] = _newer_parts(self.topics.get(name), _topic_view(found))
        return replace(
            self,
            cluster_id=answer.cluster_id,
            controller_id=None if answer.controller_id < 0 else answer.controller_id,
            nodes={
                b.node_id: Node(b.node_id, Address(b.host, b.port), b.rack) for b in answer.brokers
            },
            topics=topics,
            errors=errors,
        )


def _topic_view(found: MetadataResponseTopic) -> TopicView:
    partitions = {
        p.partition_index: PartitionView(
            leader=None if p.leader_id < 0 else p.leader_id,
            leader_epoch=p.leader_epoch,
            replicas=tuple(p.replica_nodes),
            isr=tuple(p.isr_nodes),
        )
        for p in sorted(found.partitions, key=lambda p: p.partition_index)
    }
    return TopicView(found.name or "", found.topic_id, partitions, found.is_internal)


def _newer_parts(known: TopicView | None, found: TopicView) -> TopicView:
    """A broker that lags behind must not send us back to an old leader (KIP-320)."""
    if known is None or known.topic_id != found.topic_id or found.topic_id == ZERO_UUID:
        return found
    partitions = {
        index: max(part, known.partitions.get(index, part), key=lambda p: p.leader_epoch)
        for index, part in found.partitions.items()
    }
    return replace(found, partitions=partitions)
