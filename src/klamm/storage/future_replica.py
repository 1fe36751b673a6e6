"""FutureReplica: a log that is copied into another data directory, until the copy has all of it and takes its place (KIP-113).

It copies from the log as it is read by anybody else, batch by batch as they are; the log is written to meanwhile. Its directory is
called `<partition>.<32 digits>-future`, as Kafka calls it.
"""

from __future__ import annotations

from klamm.base.ids import TopicPartition
from klamm.base.settings.declare import INT_MAX
from klamm.base.settings.topic import TopicSettings
from klamm.log.flush import Flush
from klamm.log.log import Log
from klamm.log.results import Origin, UnexpectedOffset
from klamm.log.state.epochs import LeaderEpochs
from klamm.storage.log_directories import LogDirectory

SUFFIX = "-future"
# What is in the log belongs there, whoever led when it came.
_ANY_EPOCH = INT_MAX


class FutureReplica:
    def __init__(
        self,
        name: TopicPartition,
        source: Log,
        target: LogDirectory,
        settings: TopicSettings,
        *,
        unique: int,
        now: int,
    ) -> None:
        self.name = name
        self.target = target
        self._source = source
        self._generation = source.generation
        self._path = f"{target.path}/{name}.{unique:032x}{SUFFIX}"
        self.log = Log.open(
            target.disk,
            self._path,
            settings,
            now=now,
            clean=True,
            log_start_offset=source.start_offset,
            topic_id=source.topic_id,
        )

    @property
    def lag(self) -> int:
        """How many offsets are still to be copied."""
        return max(self._source.end_offset - self.log.end_offset, 0)

    def copy(self, max_bytes: int, now: int) -> int:
        """Copy some of it; returns how many bytes that were, 0 when there is nothing more."""
        source = self._source
        if self._generation != source.generation:
            # The log was cut: what was copied may be of the part that is gone.
            self._generation = source.generation
            self.log.truncate_fully_and_start_at(source.start_offset, now)
        if self.log.end_offset < source.start_offset:
            self.log.truncate_fully_and_start_at(source.start_offset, now)
        found = source.read(self.log.end_offset, max_bytes, up_to=source.end_offset)
        if found is None:
            return 0
        data = bytearray(found.read())
        try:
            self._append(data, now)
        except UnexpectedOffset as e:
            if self.log.start_offset != self.log.end_offset:
                raise
            # The log starts within this batch.
            self.log.truncate_fully_and_start_at(e.offset, now)
            self._append(data, now)
        return len(data)

    def _append(self, data: bytearray, now: int) -> None:
        self.log.append(data, leader_epoch=_ANY_EPOCH, now=now, origin=Origin.REPLICATION)

    def begin_flush(self) -> Flush | None:
        """Most of it is made safe before the swap, which waits for the disk only for the rest."""
        return self.log.begin_flush()

    def take_place(self, now: int) -> None:
        """All is copied: from here on the directory has the partition's name. Waits for the disk."""
        source, disk = self._source, self.target.disk
        assert not self.lag
        self.log.advance_start(source.start_offset)
        # What the log knows of leaders and producers is more than the batches tell that are left of it.
        self.log.epochs = LeaderEpochs(list(source.epochs.entries))
        self.log.epochs.is_dirty = True
        self.log.producers = source.producers
        self.log.close(now)
        disk.rename(self._path, f"{self.target.path}/{self.name}")
        disk.fsync_dir(self.target.path)

    def abandon(self) -> None:
        """The move is called off."""
        self.target.disk.rmtree(self.log.delete())
