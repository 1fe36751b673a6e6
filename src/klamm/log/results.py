"""What a log answers: where an append landed, where bytes to read lie, and what went wrong."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.disk import File


class Origin(Enum):
    """Who sends the bytes: it decides what is checked and whether offsets are given or kept."""

    CLIENT = "client"  # one batch, every check, offsets given here
    COORDINATOR = "coordinator"  # our own records and transaction markers; no sequence check
    RAFT = "raft"  # the metadata leader's own records
    REPLICATION = "replication"  # already stamped by the leader: offsets and epochs are kept


class Appended(NamedTuple):
    base_offset: int
    last_offset: int
    # Set by the broker's clock (LogAppendTime), or of the first copy of a duplicate; else -1, as on the wire.
    append_time: int
    # The batch had been appended before: nothing was written, and the offsets are those of the first time.
    duplicate: bool


class Slice(NamedTuple):
    """Bytes of one segment that answer a read; not read yet, so that it costs nothing to pass on."""

    file: File
    position: int
    size: int
    # The base offset of the segment.
    base: int
    # How many of the bytes, at the end, are of a batch that is cut off, as far as that is known and worth knowing.
    spare: int = 0

    def trimmed(self) -> Slice:
        """Without the batch that is cut off: nobody can use it, and whoever reads on gets it again."""
        return Slice(self.file, self.position, self.size - self.spare, self.base)

    def read(self) -> bytes:
        return self.file.pread(self.size, self.position)

    def read_part(self, start: int, size: int) -> bytes:
        """Some of it: what is large goes to a slow reader piece by piece."""
        return self.file.pread(size, self.position + start)


class TimestampedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


class OffsetOutOfRange(ApiError):
    def __init__(self, offset: int, start: int, end: int) -> None:
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Offset {offset} is outside the log, which holds {start} up to {end}.",
        )


class UnexpectedOffset(ApiError):
    """A follower was sent batches that do not continue its log."""

    def __init__(self, offset: int, end: int) -> None:
        super().__init__(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Cannot append offset {offset} to a log that ends at {end}.",
        )
        self.offset = offset


class DamagedLog(ApiError):
    """Bytes that were safe on disk are not what was written. Nothing is cut; another replica must help."""

    def __init__(self, path: str, position: int) -> None:
        super().__init__(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{path} is damaged at byte {position}, and what follows was safe on disk.",
        )
