"""Which segments are cleaned into one, so that what is left of many small ones does not stay many small ones."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.base.settings.topic import TopicSettings
from klamm.log.segment import INDEX, TIME_INDEX, Segment

# An index holds offsets relative to the first, in 31 bits.
_MAX_OFFSETS = 1 << 31
# Swapping them is work for the loop, some renames a segment: it must stay a matter of a millisecond or two.
MAX_SEGMENTS = 16


def group(segments: Sequence[tuple[Segment, int]], settings: TopicSettings) -> list[list[Segment]]:
    """Neighbours, as many as fit into the limits of one segment by what they weigh now. Each comes with its end offset."""
    limits = (settings.segment_bytes, settings.segment_index_bytes, settings.segment_index_bytes)
    groups: list[list[Segment]] = []
    weights = [0, 0, 0]
    for segment, end in segments:
        own = [segment.size, segment.file_size(INDEX), segment.file_size(TIME_INDEX)]
        together = [a + b for a, b in zip(weights, own, strict=True)]
        if (
            groups
            and len(groups[-1]) < MAX_SEGMENTS
            and all(a <= b for a, b in zip(together, limits, strict=True))
            and (not segment.size or end - groups[-1][0].base_offset <= _MAX_OFFSETS)
        ):
            groups[-1].append(segment)
            weights = together
        else:
            groups.append([segment])
            weights = own
    return groups
