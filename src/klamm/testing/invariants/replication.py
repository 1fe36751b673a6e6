"""What holds between the nodes of a cluster, at every moment that somebody looks.

A Watcher is shown the living nodes again and again and remembers what it has seen: who led in which epoch, how far a
leader had committed. Its `complaints` are what is wrong, in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition, Uuid
from klamm.replication.partition import Partition
from klamm.server.node import Node
from klamm.testing.scan import ScannedBatch, ScannedLog

Nodes = Mapping[int, Node]
_Key = tuple[Uuid, int]


@dataclass(slots=True)
class Watcher:
    complaints: list[str] = field(default_factory=list)
    # (topic id, partition, leader epoch) -> who led.
    _leaders: dict[tuple[Uuid, int, int], int] = field(default_factory=dict)
    # Partition -> the newest leader epoch that anybody led in, and how far it was committed there.
    _committed: dict[_Key, tuple[int, int]] = field(default_factory=dict)
    # Epoch of the quorum -> who led it.
    _controllers: dict[int, int] = field(default_factory=dict)

    def look(self, nodes: Nodes) -> None:
        self.complaints += self._one_controller_in_an_epoch(nodes)
        self.complaints += self._one_leader_in_an_epoch(nodes)
        self.complaints += self._high_watermarks(nodes)

    def _one_controller_in_an_epoch(self, nodes: Nodes) -> Iterator[str]:
        """R1."""
        for node_id, node in nodes.items():
            quorum = node.quorum
            if quorum.leader_id is None:
                continue
            other = self._controllers.setdefault(quorum.epoch, quorum.leader_id)
            if other != quorum.leader_id:
                yield (
                    f"quorum epoch {quorum.epoch} is led by {other} and, as node {node_id} knows, "
                    f"by {quorum.leader_id}"
                )

    def _one_leader_in_an_epoch(self, nodes: Nodes) -> Iterator[str]:
        """P1."""
        for node_id, partition in _led(nodes):
            key = partition.topic_id, partition.name.partition, partition.leader_epoch
            other = self._leaders.setdefault(key, node_id)
            if other != node_id:
                yield f"{partition.name} is led by {other} and {node_id} in epoch {key[2]}"

    def _high_watermarks(self, nodes: Nodes) -> Iterator[str]:
        """P2: it never falls at a leader, and is never above its log."""
        for node_id, partition in _led(nodes):
            key = partition.topic_id, partition.name.partition
            epoch, before = self._committed.get(key, (-1, -1))
            now = partition.high_watermark
            if epoch == partition.leader_epoch and now < before:
                yield f"{partition.name} on {node_id}: committed up to {before}, now {now}"
            if now > partition.log.end_offset:
                yield f"{partition.name} on {node_id}: {now} is above {partition.log.end_offset}"
            if partition.leader_epoch >= epoch:
                self._committed[key] = partition.leader_epoch, now


def _led(nodes: Nodes) -> Iterator[tuple[int, Partition]]:
    for node_id, node in nodes.items():
        if hasattr(node, "broker"):
            for partition in node.broker.replicas:
                if partition.is_leader:
                    yield node_id, partition


def replicas_are_equal(scans: Mapping[int, Mapping[TopicPartition, ScannedLog]]) -> Iterator[str]:
    """P6, R2: what two replicas both hold as committed is the same, but for what compaction took from one of them."""
    names = dict.fromkeys(name for scan in scans.values() for name in scan)
    for name in names:
        copies = {node_id: scan[name] for node_id, scan in scans.items() if name in scan}
        first, *others = copies
        for other in others:
            if copies[first].topic_id == copies[other].topic_id:
                yield from _differences(name, first, copies[first], other, copies[other])


def _differences(
    name: TopicPartition, one: int, a: ScannedLog, two: int, b: ScannedLog
) -> Iterator[str]:
    end = min(a.high_watermark, b.high_watermark)
    start = max(a.start, b.start)
    if a.is_compacted:
        mine = {record.offset: record for _, record in a.records() if start <= record.offset < end}
        theirs = {record.offset: record for _, record in b.records()}
        for offset, record in mine.items():
            found = theirs.get(offset)
            if found is not None and (found.key, found.value) != (record.key, record.value):
                yield f"{name} at {offset}: node {one} has {record.value!r}, node {two} {found.value!r}"
        return
    ours, others = _between(a, start, end), _between(b, start, end)
    for mine_batch, their_batch in zip(ours, others, strict=False):
        if mine_batch != their_batch:
            yield (
                f"{name}: node {one} has a batch at {mine_batch.base_offset} that differs from "
                f"node {two}'s at {their_batch.base_offset}"
            )
            return
    if len(ours) != len(others):
        yield f"{name}: nodes {one} and {two} have {len(ours)} and {len(others)} batches below {end}"


def _between(log: ScannedLog, start: int, end: int) -> list[ScannedBatch]:
    return [each for each in log.batches if start <= each.base_offset and each.last_offset < end]


def images_are_equal(nodes: Nodes) -> Iterator[str]:
    """R3: who has read the metadata log up to the same offset knows the same."""
    seen: dict[int, int] = {}
    for node_id, node in nodes.items():
        image = node.quorum.image
        other = seen.setdefault(image.offset, node_id)
        if other != node_id and nodes[other].quorum.image != image:
            yield f"nodes {other} and {node_id} know different things at offset {image.offset}"
