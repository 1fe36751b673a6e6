"""The partitions of this broker: found by name, created, led and removed as the cluster's metadata says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.settings.topic import TopicSettings
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.replication.partition import OnFailure, Partition
from klamm.storage.log_directories import LogDirectory, RunFlushes
from klamm.storage.log_manager import LogManager

SettingsOf = Callable[[ClusterImage, str], TopicSettings]


class Loaded(NamedTuple):
    # Directories that no topic claims, renamed.
    strays: list[str]
    problems: list[str]


class Replicas:
    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        settings_of: SettingsOf,
        *,
        producer_expiry_ms: int,
        on_failure: OnFailure,
    ) -> None:
        self.logs = LogManager(directories, producer_expiry_ms=producer_expiry_ms)
        self._broker_id = broker_id
        self._settings_of = settings_of
        self._on_failure = on_failure
        # Ours by the metadata, but their logs could not be opened.
        self._unreadable: set[tuple[str, int]] = set()
        self._partitions: dict[tuple[str, int], Partition] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def get(self, topic: str, index: int) -> Partition:
        """The partition, or the reason why it is not here."""
        partition = self._partitions.get((topic, index))
        if partition is not None:
            return partition
        if (topic, index) in self._unreadable:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    @property
    def directories(self) -> Sequence[LogDirectory]:
        return self.logs.directories

    def in_directory(self, directory: LogDirectory) -> list[Partition]:
        return [each for each in self if self.logs.home_of(each.name) is directory]

    def home_of(self, partition: Partition) -> LogDirectory:
        return self.logs.home_of(partition.name)

    # -- following the metadata -------------------------------------------------------------------------------------

    def load(self, image: ClusterImage, now: int, *, is_current: bool = True) -> Loaded:
        """Open everything that the image gives this broker.

        is_current: the image is as new as the broker's registration. An older one does not know topics that exist, and
        what it does not know is left where it is.
        """
        on_disk = self.logs.find_all()
        topics = image.topics_by_name.values()
        problems = [problem for topic in topics for problem in self.apply_topic(image, topic, now)]
        if is_current:
            known = self._partitions.keys() | self._unreadable
            self.logs.set_aside(name for name in on_disk if name not in known)
        return Loaded(self.logs.strays, problems)

    def apply_topic(self, image: ClusterImage, topic: TopicImage, now: int) -> list[str]:
        """As `follow_topic`, in one go."""
        return [problem for problem in self.follow_topic(image, topic, now) if problem is not None]

    def follow_topic(
        self, image: ClusterImage, topic: TopicImage, now: int
    ) -> Iterator[str | None]:
        """Create, or lead in a new epoch, this topic's partitions that are ours; each is a step.

        A log that cannot be opened, damaged below its recovery point for example, is left as it is: the partition is
        offline and the others go on. A step tells what went wrong, in words.
        """
        settings = None
        for index, state in enumerate(topic.partitions):
            if self._broker_id not in state.replicas:
                continue
            partition = self._partitions.get((topic.name, index))
            if partition is None or partition.topic_id != topic.topic_id:
                settings = settings or self._settings_of(image, topic.name)
                name = TopicPartition(topic.name, index)
                try:
                    partition = self._create(name, topic, settings, now)
                except (OSError, ApiError) as e:
                    self._unreadable.add(name)
                    yield f"{name}: {e}"
                    continue
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
            yield None

    def remove_topic(self, topic: TopicImage) -> list[Partition]:
        """Forget a deleted topic; returns its partitions, whose files are still there."""
        removed = []
        for index in range(len(topic.partitions)):
            self._unreadable.discard((topic.name, index))
            partition = self._partitions.get((topic.name, index))
            if partition is not None and partition.topic_id == topic.topic_id:
                self._remove(partition)
                removed.append(partition)
        return removed

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
            self._remove(old)
            old.log.delete()
        log = self.logs.open(name, topic.topic_id, settings, now)
        partition = Partition(name, topic.topic_id, log, settings)
        partition.on_failure = self._on_failure
        self._unreadable.discard(name)
        self._partitions[name] = partition
        return partition

    def _remove(self, partition: Partition) -> None:
        partition.is_leader = False
        del self._partitions[partition.name]
        self.logs.forget(partition.name)

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return {partition.name: partition.high_watermark for partition in self}

    def close(self, *, now: int, broker_epoch: int, run: RunFlushes) -> None:
        self.logs.close(self.high_watermarks(), now=now, broker_epoch=broker_epoch, run=run)
