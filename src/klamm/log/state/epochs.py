"""Which leader epoch began at which offset: `leader-epoch-checkpoint`, and the answers to questions of divergence.

Pure but for its text form. Epochs and offsets both rise along the list; the list is derived from the batches, so a
lost file costs a walk over the log and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

_epoch_of = attrgetter("epoch")
_start_of = attrgetter("start_offset")


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """The history of one partition's leaders."""

    __slots__ = ("_entries", "is_dirty", "latest")

    def __init__(self, entries: list[EpochStart] | None = None) -> None:
        self._entries = entries or []
        # Read by every append; None when nothing is known.
        self.latest: int | None = self._entries[-1].epoch if self._entries else None
        # The file on disk says something older than this.
        self.is_dirty = False

    @classmethod
    def parse(cls, text: str) -> LeaderEpochs:
        """Raises ValueError for text that is not a checkpoint, as after a crash in the middle of a write."""
        version, count, *lines = text.split("\n")
        pairs = [line.split(" ") for line in lines if line]
        entries = [EpochStart(int(epoch), int(start)) for epoch, start in pairs]
        if int(version) != 0 or int(count) != len(entries):
            raise ValueError("not a leader epoch checkpoint")
        return cls(entries)

    def to_text(self) -> str:
        lines = [f"{epoch} {start}\n" for epoch, start in self._entries]
        return f"0\n{len(lines)}\n{''.join(lines)}"

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """The epoch's first batch has this offset. What contradicts it is forgotten; an older epoch is no news."""
        if epoch < 0 or not self._is_news(epoch, start_offset):
            return
        kept = [e for e in self._entries if e.epoch < epoch and e.start_offset < start_offset]
        self._replace([*kept, EpochStart(epoch, start_offset)])

    def _is_news(self, epoch: int, start_offset: int) -> bool:
        return (
            self.latest is None
            or epoch > self.latest
            or start_offset < self._entries[-1].start_offset
        )

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int] | None:
        """The largest known epoch not above the asked one, and where it ends; None if all that is known is newer.

        A follower that asks for its own latest epoch and gets a smaller end offset must cut its log there.
        """
        if self.latest is None or epoch < 0:
            return None
        if epoch == self.latest:
            return epoch, log_end
        following = bisect_right(self._entries, epoch, key=_epoch_of)
        if following == len(self._entries):
            # The asked epoch is newer than anything here: this log cannot say.
            return None
        if following == 0:
            # Older than anything here: it ended where our history begins.
            return epoch, self._entries[0].start_offset
        return self._entries[following - 1].epoch, self._entries[following].start_offset

    def epoch_of(self, offset: int) -> int | None:
        """The epoch that wrote the offset."""
        found = bisect_right(self._entries, offset, key=_start_of)
        return self._entries[found - 1].epoch if found else None

    def truncate_from_end(self, end_offset: int) -> None:
        """The log was cut: epochs that began at or behind its new end never were."""
        if self._entries and self._entries[-1].start_offset >= end_offset:
            self._replace([e for e in self._entries if e.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """The log's beginning was dropped: the epoch in force there now begins there."""
        found = bisect_right(self._entries, start_offset, key=_start_of)
        if found and self._entries[0].start_offset < start_offset:
            first = EpochStart(self._entries[found - 1].epoch, start_offset)
            self._replace([first, *self._entries[found:]])

    def clear(self) -> None:
        self._replace([])

    def _replace(self, entries: list[EpochStart]) -> None:
        self._entries = entries
        self.latest = entries[-1].epoch if entries else None
        self.is_dirty = True
