"""What is held against all living nodes again and again: a Watcher remembers what it has seen of them.

Each invariant is a function of what was seen before (Seen) and of what there is now (Glimpse). They look into the memory of the
nodes, between two steps of the loop; nothing of that can be seen from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.metadata.image import ClusterImage, PartitionImage
from klamm.raft.messages import ReplicaKey
from klamm.replication.partition import Partition
from klamm.server.node import Node
from klamm.testing.invariants.catalogue import told

Nodes = Mapping[int, Node]
# A partition of one life of its topic.
Key = tuple[Uuid, int]


@dataclass(slots=True)
class Held:
    """What was last seen of a partition on a node, as long as it is the same object there."""

    partition: Partition
    leader_epoch: int = -1
    partition_epoch: int = -1
    is_leader: bool = False
    has_min_isr: bool = True
    high_watermark: int = 0
    # The highest ever.
    committed: int = 0
    stable: int = 0
    start: int = 0


@dataclass(slots=True)
class Seen:
    # Epoch of the quorum -> who led it.
    controllers: dict[int, int] = field(default_factory=dict)
    # Node -> its newest epoch; (node, epoch) -> whom it voted for.
    quorum_epochs: dict[int, int] = field(default_factory=dict)
    votes: dict[tuple[int, int], ReplicaKey] = field(default_factory=dict)
    # How much of the metadata log anybody knew to be committed.
    metadata_committed: int = 0
    # Offset of the metadata log -> what is known there; and what nodes have come to know since the last look.
    images: dict[int, ClusterImage] = field(default_factory=dict)
    published: list[tuple[int, ClusterImage]] = field(default_factory=list)
    newest: ClusterImage | None = None
    # Of topics, with every value that was ever committed.
    configs: set[tuple[str, str, str]] = field(default_factory=set)
    snapshots: set[tuple[int, OffsetAndEpoch]] = field(default_factory=set)
    # Offset of a record about the voters -> who they are.
    voters: dict[int, frozenset[int]] = field(default_factory=dict)
    # (partition, leader epoch) -> who led.
    leaders: dict[tuple[Key, int], int] = field(default_factory=dict)
    # Partition -> how much of it any leader knew to be committed.
    committed: dict[Key, int] = field(default_factory=dict)
    held: dict[tuple[int, Key], Held] = field(default_factory=dict)
    # (node, partition) -> how far its log must reach when it comes back.
    safe: dict[tuple[int, Key], int] = field(default_factory=dict)


@dataclass(slots=True)
class Glimpse:
    """All living nodes at one moment."""

    now: float
    nodes: Nodes
    # When a sync failed for the first time on a node's disk.
    failed: Mapping[int, float]
    # Those that are about to come up, as far as they are.
    coming: Nodes
    # What the node knows that knows most, now or ever.
    newest: ClusterImage | None = None
    replicas: list[tuple[int, Key, Partition]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replicas = [
            (node_id, (partition.topic_id, partition.name.partition), partition)
            for node_id, node in self.nodes.items()
            if hasattr(node, "broker")
            for partition in node.broker.replicas
        ]
        for node in self.nodes.values():
            image = node.quorum.image
            if self.newest is None or image.offset > self.newest.offset:
                self.newest = image

    def led(self) -> Iterator[tuple[int, Key, Partition]]:
        return (each for each in self.replicas if each[2].is_leader)


Watched = Callable[[Seen, Glimpse], Iterator[str]]


def partitions_of(image: ClusterImage) -> Iterator[tuple[str, Key, PartitionImage]]:
    for topic in image.topics_by_name.values():
        for index, partition in enumerate(topic.partitions):
            yield f"{topic.name}-{index}", (topic.topic_id, index), partition


class Watcher:
    """Its `complaints` are what is wrong, in words."""

    def __init__(self, watched: tuple[Watched, ...]) -> None:
        self._watched = watched
        self.seen = Seen()
        # The lives of nodes that tell of all that they come to know.
        self._heard: set[Node] = set()
        self.complaints: list[str] = []

    def look(self, nodes: Nodes, now: float, failed: Mapping[int, float], coming: Nodes) -> None:
        seen, glimpse = self.seen, Glimpse(now, nodes, failed, coming, self.seen.newest)
        for node_id, node in nodes.items():
            if node not in self._heard:
                self._hear(node_id, node)
        for each in self._watched:
            self.complaints += told(each, seen, glimpse)
        self._remember(glimpse)

    def _hear(self, node_id: int, node: Node) -> None:
        published = self.seen.published
        published.append((node_id, node.quorum.image))
        node.quorum.on_change(lambda image, _: published.append((node_id, image)))
        self._heard.add(node)

    def dies(self, nodes: Nodes, node_id: int, is_power: bool) -> None:
        """What the logs of a node that is about to die promise: all that is committed, or of that what is synced."""
        glimpse = Glimpse(0.0, {node_id: nodes[node_id]}, {}, {})
        for _, key, partition in glimpse.replicas:
            if not partition.is_offline:
                end = partition.high_watermark
                self.seen.safe[node_id, key] = (
                    min(end, partition.log.recovery_point) if is_power else end
                )

    def _remember(self, glimpse: Glimpse) -> None:
        seen = self.seen
        held: dict[tuple[int, Key], Held] = {}
        for node_id, key, partition in glimpse.replicas:
            before = seen.held.get((node_id, key))
            if before is None or before.partition is not partition:
                before = Held(partition)
            held[node_id, key] = before
            before.leader_epoch = partition.leader_epoch
            before.partition_epoch = partition.partition_epoch
            before.is_leader = partition.is_leader
            before.has_min_isr = partition.has_min_isr
            before.high_watermark = partition.high_watermark
            before.committed = max(before.committed, partition.high_watermark)
            before.start = partition.log.start_offset
            if partition.is_leader:
                before.stable = partition.last_stable_offset
                seen.committed[key] = max(seen.committed.get(key, 0), partition.high_watermark)
        seen.held = held
        seen.newest = glimpse.newest
