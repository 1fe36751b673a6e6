"""Which of the oldest segments may go. Pure: it counts segments, the log removes them.

Whole segments only, from the oldest on, and never one that reaches above the high watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from klamm.base.settings.topic import TopicSettings
from klamm.log.segment import Segment

Expired = Callable[[Segment, int], bool]


def count_deletable(
    segments: Sequence[Segment],
    settings: TopicSettings,
    *,
    now: int,
    start_offset: int,
    end_offset: int,
    up_to: int,
) -> int:
    """How many segments from the oldest on have no reason to stay."""

    def below_start(segment: Segment, end: int) -> bool:
        return end <= start_offset and segment is not segments[-1]

    rules: list[Expired] = [below_start]
    if "delete" in settings.cleanup_policy:
        rules += [_too_old(settings, now), _too_much(settings, segments)]
    return max(_count(segments, rule, end_offset=end_offset, up_to=up_to) for rule in rules)


def _count(segments: Sequence[Segment], rule: Expired, *, end_offset: int, up_to: int) -> int:
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        end = end_offset if is_last else segments[number + 1].base_offset
        if end > up_to or (is_last and not segment.size) or not rule(segment, end):
            return number
    return len(segments)


def _too_old(settings: TopicSettings, now: int) -> Expired:
    oldest = now - settings.retention_ms

    def rule(segment: Segment, end: int) -> bool:
        return settings.retention_ms >= 0 and segment.newest_time() < oldest

    return rule


def _too_much(settings: TopicSettings, segments: Sequence[Segment]) -> Expired:
    spare = sum(segment.size for segment in segments) - settings.retention_bytes

    def rule(segment: Segment, end: int) -> bool:
        nonlocal spare
        if settings.retention_bytes < 0 or spare < segment.size:
            return False
        spare -= segment.size
        return True

    return rule
