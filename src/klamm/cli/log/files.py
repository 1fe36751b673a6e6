"""Finding a log's files and walking over their bytes. Read-only: nothing here can repair or harm a log."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.cli.output import UsageError
from klamm.protocol.records.batch import BatchHeader, batches

LOG, INDEX, TIME_INDEX, TXN_INDEX = ".log", ".index", ".timeindex", ".txnindex"
PRODUCERS, SNAPSHOT = ".snapshot", ".checkpoint"
EPOCHS, PARTITION = "leader-epoch-checkpoint", "partition.metadata"
# What stands beside the partitions in a data directory.
OFFSET_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
META = "meta.properties"
_PAGE = 4096

SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX, PRODUCERS, SNAPSHOT)
NAMES = (EPOCHS, PARTITION, *OFFSET_CHECKPOINTS, META)


class Batch(NamedTuple):
    position: int
    header: BatchHeader
    data: memoryview


def is_known(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.name in NAMES


def files_in(path: Path) -> list[Path]:
    """The file itself, or what a partition's directory holds, in the order of offsets."""
    if path.is_file():
        return [path]
    return sorted(file for file in entries_of(path) if file.is_file() and is_known(file))


def partitions_in(path: Path) -> list[Path]:
    """The directory itself if it is a partition's, else the partitions inside it."""
    if is_partition(path):
        return [path]
    # What ends in -delete is on its way out and may vanish while we look.
    found = sorted(
        entry
        for entry in entries_of(path)
        if not entry.name.endswith("-delete") and entry.is_dir() and is_partition(entry)
    )
    if not found:
        raise UsageError(
            f"{path} holds no partition", hint="name a log directory or one of its partitions"
        )
    return found


def is_partition(path: Path) -> bool:
    return any(path.glob(f"*{LOG}"))


def entries_of(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or "") from error


def base_offset_of(path: Path) -> int:
    """Twenty digits of the name; a snapshot of the metadata log has its epoch behind them."""
    digits = path.name.partition(".")[0].partition("-")[0]
    return int(digits) if digits.isdecimal() else 0


def contents(path: Path) -> memoryview:
    """The file's bytes, mapped: a segment of a gigabyte costs no memory."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or "") from error


def walk(data: memoryview) -> Iterator[Batch]:
    """Batches with their positions; CorruptFrame where the bytes stop making sense."""
    position = 0
    for header, batch in batches(data):
        if header.base_offset < 0 or header.last_offset_delta < 0:
            raise CorruptFrame(f"the batch at byte {position} has impossible offsets")
        yield Batch(position, header, batch)
        position += len(batch)


def index_entries(data: memoryview, entry: Struct) -> list[tuple[int, int]]:
    """All entries as they stand. Kafka preallocates ten megabytes of zeros, which are none."""
    used = _used(data)
    whole = min(-(-used // entry.size), len(data) // entry.size)
    return list(entry.iter_unpack(data[: whole * entry.size]))


def _used(data: memoryview) -> int:
    """Bytes before the zeros at the end; a whole page of them counts as the end, as it does for every reader."""
    used = 0
    for at in range(0, len(data), _PAGE):
        page = bytes(data[at : at + _PAGE]).rstrip(b"\0")
        if not page:
            break
        used = at + len(page)
    return used
