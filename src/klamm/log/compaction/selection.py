"""How dirty a log is, and which one to clean next. Pure: it counts bytes of segments and compares times.

The clean part of a log was compacted by an earlier round; behind it lies the dirty part, up to the first offset that
must be left alone. That one is where a segment begins: the active one, the one that holds the last stable offset, or
the first that is younger than min.compaction.lag.ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from klamm.base.settings.declare import LONG_MAX
from klamm.base.settings.topic import TopicSettings
from klamm.log.segment import Segment

T = TypeVar("T")


class Dirt(NamedTuple):
    """What there is to clean in one log."""

    first_dirty_offset: int
    # The first offset that stays as it is.
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    # Something has waited for longer than max.compaction.lag.ms.
    is_overdue: bool

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def measure(
    segments: Sequence[Segment],
    settings: TopicSettings,
    *,
    checkpoint: int | None,
    start_offset: int,
    end_offset: int,
    last_stable_offset: int,
    now: int,
) -> Dirt:
    """segments: all of the log, the active one last. checkpoint: where the last round ended, if there was one."""
    first_dirty = checkpoint if checkpoint is not None else start_offset
    if not start_offset <= first_dirty <= end_offset:
        # The log was cut, or its beginning dropped, since the checkpoint was written.
        first_dirty = start_offset
    sealed = [(segment, after.base_offset) for segment, after in pairwise(segments)]
    dirty = [(segment, next_base) for segment, next_base in sealed if next_base > first_dirty]
    end = segments[-1].base_offset
    for segment, next_base in dirty:
        if next_base > last_stable_offset or _is_too_young(segment, settings, now):
            end = segment.base_offset
            break
    return Dirt(
        first_dirty,
        end,
        clean_bytes=sum(s.size for s in segments if s.base_offset < first_dirty),
        dirty_bytes=sum(s.size for s, _ in dirty if s.base_offset < end),
        is_overdue=_is_overdue([s for s, _ in dirty], settings, now),
    )


def _is_too_young(segment: Segment, settings: TopicSettings, now: int) -> bool:
    lag = settings.min_compaction_lag_ms
    return lag > 0 and segment.load_max_timestamp() > now - lag


def _is_overdue(dirty: Sequence[Segment], settings: TopicSettings, now: int) -> bool:
    if settings.max_compaction_lag_ms == LONG_MAX:
        return False
    firsts = (segment.first_timestamp() for segment in dirty if segment.size)
    due = now - settings.max_compaction_lag_ms
    return min((first for first in firsts if first > 0), default=due) < due


def is_worth_cleaning(dirt: Dirt, settings: TopicSettings) -> bool:
    return (
        dirt.is_overdue and dirt.dirty_bytes > 0
    ) or dirt.ratio > settings.min_cleanable_dirty_ratio


def dirtiest(candidates: Iterable[tuple[T, Dirt]]) -> tuple[T, Dirt] | None:
    return max(candidates, key=lambda candidate: candidate[1].ratio, default=None)
