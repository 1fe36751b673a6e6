"""LogManager: in which data directory each log of this broker is, and where a new one goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import DamagedLog
from klamm.storage.future_replica import FutureReplica
from klamm.storage.log_directories import LogDirectory, RunFlushes, least_used

# Ids of directories below it mean something else: 0 that none is chosen yet, 1 a lost one.
_FIRST_ID = 100


class LogManager:
    def __init__(self, directories: Sequence[LogDirectory], *, producer_expiry_ms: int) -> None:
        self.directories = directories
        # Directories of partitions that were renamed because no topic claims them.
        self.strays: list[str] = []
        # Where copies were under way when the broker stopped.
        self.moves: dict[TopicPartition, LogDirectory] = {}
        # Set aside because they were damaged, in words.
        self.damaged: list[str] = []
        self._producer_expiry_ms = producer_expiry_ms
        self._home: dict[tuple[str, int], LogDirectory] = {}

    def home_of(self, name: TopicPartition) -> LogDirectory:
        return self._home[name]

    def find_all(self) -> list[TopicPartition]:
        """What is on the disks at the start, once what was being deleted is gone."""
        for directory in self.directories:
            if not directory.is_online:
                continue
            directory.remove_deleted()
            self.moves.update(dict.fromkeys(directory.remove_futures(), directory))
            for name in sorted(directory.partitions_on_disk()):
                if name in self._home:
                    # A crash came between the two renames at the end of a move: both have all of it.
                    self.strays.append(directory.set_aside(name))
                else:
                    self._home[name] = directory
        return [TopicPartition(*name) for name in self._home]

    def open(
        self,
        name: TopicPartition,
        topic_id: Uuid,
        settings: TopicSettings,
        now: int,
        *,
        has_leader: bool = False,
        place: Uuid | None = None,
    ) -> Log:
        """Where it is, or where there is most room. ApiError or OSError: the partition is offline.

        has_leader: another broker has all of it, so that a damaged log may be set aside and filled again from there.
        place: the directory that it should be in, as far as the cluster knows.
        """
        if name not in self._home:
            self._check_place(place)
        directory = self._home.get(name) or least_used(self.directories)
        try:
            log = self._open(directory, name, topic_id, settings, now)
            if log.recovered.damaged and has_leader:
                raise DamagedLog(log.directory, log.recovered.damaged[0])
        except DamagedLog as e:
            if not has_leader:
                raise
            aside = directory.set_aside(name)
            self.damaged.append(f"{name}: {e} It is now {aside}.")
            log = self._open(directory, name, topic_id, settings, now)
        except ApiError as e:
            if e.code != ErrorCode.INCONSISTENT_TOPIC_ID:
                raise
            # The topic was deleted and made again, and a crash came before the files went.
            self.strays.append(directory.set_aside(name))
            log = self._open(directory, name, topic_id, settings, now)
        self._home[name] = directory
        return log

    def _check_place(self, place: Uuid | None) -> None:
        """What lies in a directory that cannot be read is not begun anew in another: it may be the only copy."""
        offline = [each.path for each in self.directories if not each.is_online]
        is_named = place is not None and int.from_bytes(place, "big") >= _FIRST_ID
        if offline and is_named and all(each.id != place for each in self.directories):
            text = f"it lies in a directory that is offline: {', '.join(offline)}"
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, text)

    def take_damaged(self) -> list[str]:
        """What was set aside since the last time, in words: a leader fills these again."""
        damaged, self.damaged = self.damaged, []
        return damaged

    def swap_in(
        self, future: FutureReplica, topic_id: Uuid, settings: TopicSettings, now: int
    ) -> Log:
        """The copy takes the log's place, whose files are the caller's to delete; returns it as it is from then on.

        Before, the caller had the target `forget_namesakes` and wrote that down.
        """
        name, target = future.name, future.target
        future.take_place(now)
        log = self._open(target, name, topic_id, settings, now, is_clean=True)
        self._home[name].forget(name)
        self._home[name] = target
        return log

    def _open(
        self,
        directory: LogDirectory,
        name: TopicPartition,
        topic_id: Uuid,
        settings: TopicSettings,
        now: int,
        *,
        is_clean: bool = False,
    ) -> Log:
        return directory.open(
            name,
            settings,
            topic_id=topic_id,
            now=now,
            producer_expiry_ms=self._producer_expiry_ms,
            is_clean=is_clean,
        )

    def set_aside(self, names: Iterable[TopicPartition]) -> None:
        """No topic claims them: renamed, so that a person can look at them."""
        for name in names:
            self.strays.append(self._home.pop(name).set_aside(name))

    def forget(self, name: TopicPartition) -> None:
        self._home.pop(name).forget(name)

    def close(
        self,
        high_watermarks: Mapping[TopicPartition, int],
        *,
        now: int,
        broker_epoch: int,
        run: RunFlushes,
    ) -> None:
        for directory in self.directories:
            directory.close(high_watermarks, now=now, broker_epoch=broker_epoch, run=run)
