"""Snapshots of the producers: where a segment begins, and at landmarks within one, from which recovery may begin.

A landmark is a snapshot and the indexes of the active segment as they stood there. It spares recovery the reading of all
that stands before. The last two are kept, since the newest may stand too near to the end (recovery.py).
"""

from __future__ import annotations

from klamm.log.disk import Disk
from klamm.log.flush import Durability
from klamm.log.recovery import snapshot_path
from klamm.log.segment import Segment
from klamm.log.state import producer_snapshot
from klamm.log.state.producers import ProducerStates


class Landmarks:
    __slots__ = ("_directory", "_disk", "_durability", "_places", "_snapshot_offset")

    def __init__(
        self, disk: Disk, directory: str, durability: Durability, snapshot_offset: int
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._durability = durability
        # Where the newest snapshot of the producers stands, if it is known to be on disk.
        self._snapshot_offset = snapshot_offset
        # (offset, size of the segment then), the newest last.
        self._places: list[tuple[int, int]] = []

    def write_snapshot(self, producers: ProducerStates, offset: int) -> None:
        """What is known of the producers here, where the log ends."""
        path = snapshot_path(self._directory, offset)
        self._disk.write(path, producer_snapshot.to_bytes(producers))
        self._snapshot_offset = offset
        self._durability.snapshot_written(offset)

    def ensure_snapshot(self, producers: ProducerStates, offset: int) -> None:
        if self._snapshot_offset != offset:
            self.write_snapshot(producers, offset)

    def set(self, active: Segment, producers: ProducerStates, offset: int, *, every: int) -> None:
        """Once in so many bytes, where the log ends. It is safe when the recovery point is here: no flush under way
        reaches as far, and all later ones sync it."""
        before = self._places[-1][1] if self._places else 0
        if active.size - before < every or not active.is_active:
            return
        if self._durability.is_promised(offset):
            return
        self.ensure_snapshot(producers, offset)
        snapshot = snapshot_path(self._directory, offset)
        self._durability.landmark_written([*active.save_indexes(), snapshot])
        for old, _ in self._places[:-1]:
            self._disk.remove(snapshot_path(self._directory, old))
        self._places = [*self._places[-1:], (offset, active.size)]

    def segment_begins(self, offset: int) -> None:
        """The snapshot of one that stands right here is now the new segment's."""
        self._places = [(at, 0) for at, _ in self._places if at < offset]

    def truncated(self) -> None:
        self._snapshot_offset = -1
        self._places = []
