"""What a consumer reads and how far it is: one state per assigned partition. Facts and rules, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition
from klamm.client.consumer.settings import OffsetReset
from klamm.client.offsets import CommittedOffset


@dataclass(slots=True)
class PartitionState:
    """`position` is the next offset to give out; None until it was found, by a commit or by `reset`."""

    position: int | None = None
    leader_epoch: int = -1
    reset: OffsetReset | None = None
    is_paused: bool = False
    is_being_revoked: bool = False
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    # Where the leader would rather have us read (KIP-392).
    read_replica: int | None = None

    @property
    def is_fetchable(self) -> bool:
        return self.position is not None and not self.is_paused and not self.is_being_revoked

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        self.position = offset
        self.leader_epoch = leader_epoch
        self.reset = None

    def reset_to(self, reset: OffsetReset) -> None:
        self.position = None
        self.leader_epoch = -1
        self.reset = reset


@dataclass(slots=True)
class Assignment:
    partitions: dict[TopicPartition, PartitionState] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.partitions)

    def get(self, partition: TopicPartition) -> PartitionState | None:
        return self.partitions.get(partition)

    def add(self, partitions: Collection[TopicPartition]) -> None:
        for partition in sorted(partitions):
            self.partitions.setdefault(partition, PartitionState())

    def remove(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self.partitions.pop(partition, None)

    def replace(self, partitions: Collection[TopicPartition]) -> None:
        """Those that stay keep their positions."""
        self.remove(set(self.partitions) - set(partitions))
        self.add(partitions)

    def mark_being_revoked(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            state = self.partitions.get(partition)
            if state is not None:
                state.is_being_revoked = True

    def fetchable(self) -> list[tuple[TopicPartition, PartitionState]]:
        return [(p, state) for p, state in self.partitions.items() if state.is_fetchable]

    def without_position(self) -> list[TopicPartition]:
        return [
            p
            for p, state in self.partitions.items()
            if state.position is None and state.reset is None and not state.is_being_revoked
        ]

    def to_reset(self) -> dict[TopicPartition, OffsetReset]:
        return {p: state.reset for p, state in self.partitions.items() if state.reset is not None}

    def consumed(self) -> dict[TopicPartition, CommittedOffset]:
        """How far each partition was read: what an automatic commit commits."""
        return {
            p: CommittedOffset(state.position, state.leader_epoch)
            for p, state in self.partitions.items()
            if state.position is not None
        }
