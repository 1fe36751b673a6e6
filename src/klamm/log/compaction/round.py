"""A round of compaction as the owner of the log sees it: what is asked for, and how a copy takes its place."""

from __future__ import annotations

from klamm.base.settings.topic import TopicSettings
from klamm.log.compaction.batch_filter import LastBatch
from klamm.log.compaction.cleaner import Copied, Job, part_of, segment_of
from klamm.log.compaction.selection import Dirt
from klamm.log.disk import Disk
from klamm.log.log import Log
from klamm.log.segment import CLEANED
from klamm.log.state.producers import ProducerStates


class Round:
    """Made and used where the log is used; only `job` and what comes back for it go elsewhere."""

    def __init__(
        self,
        disk: Disk,
        log: Log,
        settings: TopicSettings,
        dirt: Dirt,
        *,
        now: int,
        map_bytes: int,
        load_factor: float = 0.9,
    ) -> None:
        assert log.recovery_point >= dirt.end_offset, "only what is safe on disk is compacted"
        self._disk = disk
        self._log = log
        self._generation = log.generation
        self._segments = {segment.base_offset: segment for segment in log.segments()}
        self.job = Job(
            directory=log.directory,
            settings=settings,
            dirt=dirt,
            parts=[part_of(segment) for segment in self._segments.values()],
            last_batches=last_batches(log.producers),
            now=now,
            map_bytes=map_bytes,
            load_factor=load_factor,
        )

    def swap_in(self, copied: Copied) -> bool:
        """False if the log is not what it was; then the copy is still there, to be discarded."""
        if self._log.generation != self._generation:
            return False
        originals = [self._segments[base] for base in copied.originals]
        copy = segment_of(self._disk, self._log.directory, copied.part)
        return self._log.swap_in(originals, copy)

    def discard(self, copied: Copied) -> None:
        segment_of(self._disk, self.job.directory, copied.part).remove(CLEANED)


def last_batches(producers: ProducerStates) -> dict[int, LastBatch]:
    return {
        state.producer_id: LastBatch(
            state.batches[-1].last_offset if state.batches else None, state.epoch
        )
        for state in producers
    }
