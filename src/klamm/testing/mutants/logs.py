"""Bugs of logs and of what they remember of producers."""

from __future__ import annotations

from typing import Any

from klamm.log.compaction.batch_filter import BatchFilter
from klamm.log.log import Log
from klamm.log.state import producers
from klamm.log.state.producers import ProducerStates
from klamm.replication.partition import Partition
from klamm.testing.mutants.mutant import Patch, mutant


@mutant
def remembers_four_batches(patch: Patch) -> None:
    """A producer's last four batches are known again, not five."""
    patch.set(producers, "WINDOW", 4)


@mutant
def forgets_producers_when_it_rolls(patch: Patch) -> None:
    """When a batch has begun a new segment nothing is known of producers, not even of its own."""

    def append(self: Log, *args: Any, **kwargs: Any) -> Any:
        before = len(self._segments)
        appended = whole(self, *args, **kwargs)
        if len(self._segments) > before:
            self.producers.forget_oldest(0)
        return appended

    whole = patch.set(Log, "append", append)


@mutant
def fences_no_old_producer(patch: Patch) -> None:
    """A batch of an older epoch is as good as any."""

    def check(self: ProducerStates, producer_id: int, epoch: int, *rest: object) -> object:
        state = self.get(producer_id)
        if state is not None and epoch < state.epoch:
            return None
        return whole(self, producer_id, epoch, *rest)

    whole = patch.set(ProducerStates, "check", check)


@mutant
def is_stable_one_too_far(patch: Patch) -> None:
    """The last stable offset is one above the first open transaction."""

    def off_by_one(self: Partition) -> int:
        stable: int = whole.__get__(self)
        return min(stable + 1, self.high_watermark)

    whole = patch.set(Partition, "last_stable_offset", property(off_by_one))


@mutant
def compacts_the_last_value(patch: Patch) -> None:
    """Compaction takes the first record of each batch, too."""
    kept = BatchFilter._kept
    patch.set(BatchFilter, "_kept", lambda self, *batch: kept(self, *batch)[1:])
