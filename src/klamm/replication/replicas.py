"""The partitions of this broker: found by name, created, led and removed as the cluster's metadata says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from klamm.base.ids import TopicPartition
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.replication.log_directories import LogDirectory, least_used
from klamm.replication.partition import Partition

SettingsOf = Callable[[ClusterImage, str], TopicSettings]


class Replicas:
    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        settings_of: SettingsOf,
        *,
        producer_expiry_ms: int,
    ) -> None:
        self.directories = directories
        self._broker_id = broker_id
        self._settings_of = settings_of
        self._producer_expiry_ms = producer_expiry_ms
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._home: dict[tuple[str, int], LogDirectory] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def home_of(self, partition: Partition) -> LogDirectory:
        return self._home[partition.name]

    # -- following the metadata -------------------------------------------------------------------------------------

    def load(self, image: ClusterImage, now: int) -> list[str]:
        """Open everything the image gives this broker; returns the directories that nobody claims, set aside."""
        on_disk: dict[tuple[str, int], LogDirectory] = {}
        for directory in self.directories:
            directory.remove_deleted()
            on_disk.update(dict.fromkeys(directory.partitions_on_disk(), directory))
        self._home.update(on_disk)
        for topic in image.topics_by_name.values():
            self.apply_topic(image, topic, now)
        strays = [name for name in on_disk if name not in self._partitions]
        return [self._home.pop(name).set_aside(TopicPartition(*name)) for name in strays]

    def apply_topic(self, image: ClusterImage, topic: TopicImage, now: int) -> None:
        """Create, or lead in a new epoch, this topic's partitions that are ours."""
        settings = None
        for index, state in enumerate(topic.partitions):
            if self._broker_id not in state.replicas:
                continue
            partition = self._partitions.get((topic.name, index))
            if partition is None or partition.topic_id != topic.topic_id:
                settings = settings or self._settings_of(image, topic.name)
                partition = self._create(TopicPartition(topic.name, index), topic, settings, now)
            if (
                state.leader == self._broker_id
                and state.partition_epoch != partition.partition_epoch
            ):
                partition.become_leader(
                    leader_id=state.leader,
                    leader_epoch=state.leader_epoch,
                    partition_epoch=state.partition_epoch,
                    isr=state.isr,
                    replica_count=len(state.replicas),
                )

    def remove_topic(self, topic: TopicImage) -> list[Log]:
        """Forget a deleted topic; returns its logs, whose files are still there."""
        logs = []
        for index in range(len(topic.partitions)):
            partition = self._partitions.get((topic.name, index))
            if partition is not None and partition.topic_id == topic.topic_id:
                logs.append(self._remove(partition))
        return logs

    def reconfigure(self, image: ClusterImage, topic: str) -> None:
        """Settings of a topic changed: they hold from the next append on."""
        found = image.topics_by_name.get(topic)
        settings = self._settings_of(image, topic)
        for index in range(len(found.partitions) if found else 0):
            partition = self._partitions.get((topic, index))
            if partition is not None:
                partition.reconfigure(settings)

    def _create(
        self, name: TopicPartition, topic: TopicImage, settings: TopicSettings, now: int
    ) -> Partition:
        old = self._partitions.get(name)
        if old is not None:
            self._remove(old).delete()
        directory = self._home.get(name) or least_used(self.directories)
        log = directory.open(
            name,
            settings,
            topic_id=topic.topic_id,
            now=now,
            producer_expiry_ms=self._producer_expiry_ms,
        )
        partition = Partition(name, topic.topic_id, log, settings)
        self._partitions[name] = partition
        self._home[name] = directory
        return partition

    def _remove(self, partition: Partition) -> Log:
        partition.is_leader = False
        del self._partitions[partition.name]
        self._home.pop(partition.name).forget(partition.name)
        return partition.log

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return {partition.name: partition.high_watermark for partition in self}

    def close(self, *, now: int, broker_epoch: int) -> None:
        high_watermarks = self.high_watermarks()
        for directory in self.directories:
            directory.close(high_watermarks, now=now, broker_epoch=broker_epoch)
