"""The partitions of this broker: found by name, created, led and removed as the cluster's metadata says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.settings.topic import TopicSettings
from klamm.metadata.image import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from klamm.replication.leader import ActiveEpoch
from klamm.replication.partition import DEFAULT_LAG_MS, OnFailure, Partition
from klamm.storage.log_directories import LogDirectory, RunFlushes
from klamm.storage.log_manager import LogManager

SettingsOf = Callable[[ClusterImage, str], TopicSettings]


class Change(NamedTuple):
    """What following the metadata did to one partition."""

    partition: Partition | None = None
    # Another leader, or another epoch of the same one; also if it is new here.
    is_moved: bool = False
    # It has more or fewer replicas than before.
    is_resized: bool = False
    # Fewer must have a record now: more of the log is committed than before.
    is_committed: bool = False
    # It is no longer this broker's; its files are still there.
    is_removed: bool = False
    # What went wrong, in words.
    problem: str | None = None


class Loaded(NamedTuple):
    # Directories that no topic claims, renamed.
    strays: list[str]
    problems: list[str]
    # Partitions that were on the move to another directory.
    moves: dict[TopicPartition, LogDirectory]


class Replicas:
    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        settings_of: SettingsOf,
        *,
        producer_expiry_ms: int,
        on_failure: OnFailure,
        broker_epochs: ActiveEpoch = lambda broker_id: None,
        is_known: Callable[[str, int], bool] = lambda topic, index: False,
        lag_ms: int = DEFAULT_LAG_MS,
    ) -> None:
        """is_known: whether the cluster has a partition, wherever its replicas are."""
        self.logs = LogManager(directories, producer_expiry_ms=producer_expiry_ms)
        self._broker_id = broker_id
        self._settings_of = settings_of
        self._on_failure = on_failure
        self._broker_epochs = broker_epochs
        self._is_known = is_known
        self._lag_ms = lag_ms
        # Makes sure that a log which was just cut may be appended to.
        self.before_leading: Callable[[Partition], None] | None = None
        # Ours by the metadata, but their logs could not be opened; why, as it was told.
        self._unreadable: dict[tuple[str, int], str] = {}
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
        raise ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER
            if self._is_known(topic, index)
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )

    @property
    def directories(self) -> Sequence[LogDirectory]:
        return self.logs.directories

    def in_directory(self, directory: LogDirectory) -> list[Partition]:
        return [each for each in self if self.logs.home_of(each.name) is directory]

    def home_of(self, partition: Partition) -> LogDirectory:
        return self.logs.home_of(partition.name)

    # -- following the metadata -------------------------------------------------------------------------------------

    def load(self, image: ClusterImage, now: Now, *, is_current: bool = True) -> Loaded:
        """Open everything that the image gives this broker.

        is_current: the image is as new as the broker's registration. An older one does not know topics that exist, and
        what it does not know is left where it is.
        """
        on_disk = self.logs.find_all()
        topics = image.topics_by_name.values()
        problems = [problem for topic in topics for problem in self.apply_topic(image, topic, now)]
        if is_current:
            known = self._partitions.keys() | self._unreadable.keys()
            self.logs.set_aside(name for name in on_disk if name not in known)
        return Loaded(self.logs.strays, problems, self.logs.moves)

    def apply_topic(self, image: ClusterImage, topic: TopicImage, now: Now) -> list[str]:
        """As `follow_topic`, in one go; returns what went wrong."""
        changes = list(self.follow_topic(image, topic, now))
        return [change.problem for change in changes if change.problem is not None]

    def follow_topic(
        self,
        image: ClusterImage,
        topic: TopicImage,
        now: Now,
        indexes: Iterable[int] | None = None,
    ) -> Iterator[Change]:
        """Create, lead, follow or give up this topic's partitions, or some of them; each is a step.

        A log that cannot be opened, damaged below its recovery point for example, is left as it is: the partition is
        offline and the others go on.
        """
        settings = None
        for index in range(len(topic.partitions)) if indexes is None else indexes:
            state = topic.partitions[index]
            partition = self._partitions.get((topic.name, index))
            if self._broker_id not in state.replicas:
                self._unreadable.pop((topic.name, index), None)
                if partition is not None:
                    self._remove(partition)
                    yield Change(partition, is_removed=True)
                continue
            if partition is None or partition.topic_id != topic.topic_id:
                settings = settings or self._settings_of(image, topic.name)
                name = TopicPartition(topic.name, index)
                try:
                    partition = self._create(name, topic, state, settings, now)
                except (OSError, ApiError) as e:
                    problem = f"{name}: {e}"
                    is_told = self._unreadable.get(name) == problem
                    self._unreadable[name] = problem
                    yield Change(problem=None if is_told else problem)
                    continue
            count, high_watermark = partition.replica_count, partition.high_watermark
            is_moved = self._apply(partition, state, now)
            yield Change(
                partition,
                is_moved,
                is_resized=count != partition.replica_count,
                is_committed=partition.high_watermark > high_watermark,
            )

    def _has_leader(self, state: PartitionImage) -> bool:
        """Another one, that does not count on what we have: a log of ours that is damaged may be filled from there."""
        return state.leader not in (NO_LEADER, self._broker_id) and self._broker_id not in state.isr

    def _apply(self, partition: Partition, state: PartitionImage, now: Now) -> bool:
        if state.leader != self._broker_id:
            return partition.make_follower(state)
        if not partition.is_leader and self.before_leading is not None:
            self.before_leading(partition)
        return partition.make_leader(
            state, now=now, broker_epochs=self._broker_epochs, lag_ms=self._lag_ms
        )

    def remove_topic(self, topic: TopicImage) -> list[Partition]:
        """Forget a deleted topic; returns its partitions, whose files are still there."""
        removed = []
        for index in range(len(topic.partitions)):
            self._unreadable.pop((topic.name, index), None)
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
        self,
        name: TopicPartition,
        topic: TopicImage,
        state: PartitionImage,
        settings: TopicSettings,
        now: Now,
    ) -> Partition:
        old = self._partitions.get(name)
        if old is not None:
            self._remove(old)
            old.log.delete()
        log = self.logs.open(
            name,
            topic.topic_id,
            settings,
            now.wall,
            has_leader=self._has_leader(state),
            place=state.directory_of(self._broker_id),
        )
        high_watermark = self.logs.home_of(name).high_watermarks.get(name, 0)
        partition = Partition(name, topic.topic_id, log, settings, high_watermark=high_watermark)
        partition.on_failure = self._on_failure
        self._unreadable.pop(name, None)
        self._partitions[name] = partition
        return partition

    def _remove(self, partition: Partition) -> None:
        partition.retire()
        del self._partitions[partition.name]
        self.logs.forget(partition.name)

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return {partition.name: partition.high_watermark for partition in self}

    def close(self, *, now: int, broker_epoch: int, run: RunFlushes) -> None:
        self.logs.close(self.high_watermarks(), now=now, broker_epoch=broker_epoch, run=run)
