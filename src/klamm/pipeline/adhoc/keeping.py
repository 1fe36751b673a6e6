"""Topics that were asked once stay decoded in Spark's memory, so that the next question need not read them again.

What is kept are whole spans of offsets; what came since is read beside them. Where what stands at an offset may have become
something else (another topic of the same name, a new leader, records deleted or compacted) all is read anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from klamm.pipeline.adhoc.sampling import Extent, Span

# Of values as they are in the topics. Spark keeps about as many bytes, and those that find no room in its memory on disk.
MOST_BYTES = 512 * 1024 * 1024
# Fewer records that came since are read with each question; more of them are kept, too.
FEW = 50_000

# Reads these offsets of a topic, decoded.
Read = Callable[[list[Span]], DataFrame]


@dataclass(slots=True)
class _Kept:
    """Pieces of a topic, one behind the other in each of its partitions."""

    extent: Extent
    bytes: int
    pieces: list[DataFrame] = field(default_factory=list)


@dataclass(slots=True)
class Shelf:
    """The topic that was asked for last is forgotten last."""

    most_bytes: int = MOST_BYTES
    _topics: dict[str, _Kept] = field(default_factory=dict)

    def rows_of(
        self, topic: str, extent: Extent, value_bytes: float, read: Read
    ) -> DataFrame | None:
        """All that the topic holds now; None if that is too much to keep. Nothing is read yet."""
        kept = self._topics.pop(topic, None)
        if kept is not None and not extent.goes_on_from(kept.extent):
            self._drop(kept)
            kept = None
        size = int(extent.records * value_bytes)
        if size > self.most_bytes:
            if kept is not None:
                self._drop(kept)
            return None
        self._make_room(size)
        kept = kept or _Kept(extent.at_its_begin(), 0)
        self._topics[topic] = kept
        since = extent.since(kept.extent)
        count = sum(span.end - span.begin for span in since)
        if count >= FEW or not kept.pieces:
            piece = read(since).persist(StorageLevel.MEMORY_AND_DISK)
            kept.pieces.append(piece)
            kept.extent, kept.bytes, since = extent, size, []
        new = [read(since)] if since else []
        return reduce(DataFrame.unionAll, [*kept.pieces, *new])

    def forget(self, topic: str) -> None:
        if (kept := self._topics.pop(topic, None)) is not None:
            self._drop(kept)

    def _make_room(self, size: int) -> None:
        while (
            self._topics
            and size + sum(each.bytes for each in self._topics.values()) > self.most_bytes
        ):
            self.forget(next(iter(self._topics)))

    def _drop(self, kept: _Kept) -> None:
        for piece in kept.pieces:
            piece.unpersist()
