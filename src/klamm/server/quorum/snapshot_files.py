"""The snapshots of the metadata log as files: found, read whole or by pieces, received by pieces, dropped.

A file that somebody fetches is not dropped under them. One that is being received is a `.part` until all of it is there
and sound, so what bears a snapshot's name is one.
"""

from __future__ import annotations

from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import OffsetAndEpoch
from klamm.log.disk import Disk, File
from klamm.metadata import snapshot
from klamm.metadata.image import ClusterImage
from klamm.raft.messages import SnapshotAnswer
from klamm.raft.voters import VoterRecords

_PART = ".part"
# Whoever has not asked for the next piece for so long has given up.
_PINNED_MS = 60_000


class Received(NamedTuple):
    """A snapshot of the leader's, on this disk."""

    at: OffsetAndEpoch
    image: ClusterImage
    voters: VoterRecords


class SnapshotFiles:
    """`ids` are those on disk, oldest first."""

    __slots__ = ("_directory", "_disk", "_part", "_part_path", "_pinned_until", "ids")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._pinned_until: dict[OffsetAndEpoch, Ms] = {}
        self._part: File | None = None
        self._part_path = ""
        names = disk.listdir(directory)
        for name in names:
            # A crash, ours or Kafka's, while a snapshot was being written.
            if name.endswith((snapshot.SUFFIX + ".tmp", snapshot.SUFFIX + _PART)):
                disk.remove(f"{directory}/{name}")
        self.ids = sorted(found for name in names if (found := snapshot.parse_name(name)))

    def path(self, at: OffsetAndEpoch) -> str:
        return f"{self._directory}/{snapshot.file_name(at)}"

    def read(self, at: OffsetAndEpoch) -> bytes:
        return self._disk.read(self.path(at))

    def size(self, at: OffsetAndEpoch) -> int:
        return self._disk.file_size(self.path(at))

    def written(self, at: OffsetAndEpoch) -> None:
        if at not in self.ids:
            self.ids = sorted([*self.ids, at])

    def drop_oldest(self) -> None:
        oldest = self.ids.pop(0)
        self._pinned_until.pop(oldest, None)
        self._disk.remove(self.path(oldest))

    # Whoever follows this node

    def read_piece(
        self, at: OffsetAndEpoch, position: int, max_bytes: int, now: Ms
    ) -> tuple[bytes, int]:
        """The bytes from there on, and how many the whole has."""
        if at not in self.ids:
            raise ApiError(ErrorCode.SNAPSHOT_NOT_FOUND)
        size = self.size(at)
        if not 0 <= position < size:
            raise ApiError(ErrorCode.POSITION_OUT_OF_RANGE)
        self._pinned_until[at] = now + _PINNED_MS
        file = self._disk.open(self.path(at))
        try:
            return file.pread(max(1, min(max_bytes, size - position)), position), size
        finally:
            file.close()

    def is_pinned(self, at: OffsetAndEpoch, now: Ms) -> bool:
        return self._pinned_until.get(at, now) > now

    # What this node follows

    def write_piece(self, piece: SnapshotAnswer) -> None:
        path = self.path(piece.snapshot) + _PART
        if piece.position == 0 or self._part is None:
            self.drop_part()
            self._part, self._part_path = self._disk.open(path, create=True), path
            self._part.truncate(0)
        assert path == self._part_path
        self._part.pwrite(piece.data, piece.position)

    def receive(self, at: OffsetAndEpoch, cluster_id: str) -> Received:
        """All pieces are there. Reads and syncs them, so it is a worker's; CorruptFrame: they are no snapshot."""
        assert self._part is not None
        part = self._part
        data = part.pread(part.size(), 0)
        image = snapshot.read(data, at, cluster_id=cluster_id)
        voters = voters_in(data)
        part.fsync()
        self._disk.rename(self.path(at) + _PART, self.path(at))
        self._disk.fsync_dir(self._directory)
        return Received(at, image, voters)

    def drop_part(self) -> None:
        """What came so far is not wanted any more, or has its name by now."""
        if self._part is not None:
            self._part.close()
            self._part = None
            if self._disk.exists(self._part_path):
                self._disk.remove(self._part_path)

    def drop_received(self, at: OffsetAndEpoch) -> None:
        """It came too late to be of use."""
        self.drop_part()
        if at not in self.ids:
            self._disk.remove(self.path(at))


def voters_in(data: bytes) -> VoterRecords:
    records = VoterRecords()
    for message in snapshot.head_of(data):
        records = records.after(message)
    return records
