"""Keyed records, and whole rounds of compaction in one call: what a shell divides between its loop and a worker."""

from itertools import pairwise

from klamm.base.settings.topic import TopicSettings
from klamm.log import scan
from klamm.log.compaction import selection
from klamm.log.compaction.cleaner import Cleaning
from klamm.log.compaction.round import Round
from klamm.log.compaction.selection import Dirt
from klamm.log.disk import Disk
from klamm.log.index.offset_index import OffsetIndex
from klamm.log.log import Log
from klamm.log.segment import INDEX
from klamm.protocol.records.batch import Codec, batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records
from log.samples import NOW, append, flush, settings

Pair = tuple[bytes | None, bytes | None]
DAY = 86_400_000


def compacted(**changes: object) -> TopicSettings:
    """Small segments, an index entry for every batch, and nothing waits."""
    wanted = {
        "cleanup_policy": ("compact",),
        "index_interval_bytes": 0,
        "file_delete_delay_ms": 0,
        "min_cleanable_dirty_ratio": 0.0,
        **changes,
    }
    return settings(**wanted)


def keyed(
    *pairs: Pair,
    at: int = NOW,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """A batch of (key, value); producer is (id, epoch, first sequence)."""
    producer_id, epoch, sequence = producer
    return build_batch(
        [Record(timestamp=at, key=key, value=value) for key, value in pairs],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
        codec=codec,
    )


def put(log: Log, *pairs: Pair, at: int = NOW) -> None:
    """One batch for each pair."""
    for pair in pairs:
        append(log, keyed(pair, at=at))


def measure(log: Log, chosen: TopicSettings, checkpoint: int | None = None, now: int = NOW) -> Dirt:
    return selection.measure(
        log.segments(),
        chosen,
        checkpoint=checkpoint,
        start_offset=log.start_offset,
        end_offset=log.end_offset,
        last_stable_offset=min(log.end_offset, log.first_unstable_offset or log.end_offset),
        now=now,
    )


def clean(
    disk: Disk,
    log: Log,
    chosen: TopicSettings,
    checkpoint: int | None = None,
    *,
    now: int = NOW,
    map_bytes: int = 1 << 16,
) -> int:
    """One round over all that may be cleaned; returns the first offset that is still dirty."""
    flush(log)
    dirt = measure(log, chosen, checkpoint, now)
    asked = Round(disk, log, chosen, dirt, now=now, map_bytes=map_bytes)
    cleaning = Cleaning(disk, asked.job, no_pace)
    cleaning.build_map()
    for group in cleaning.groups():
        copied = cleaning.copy(group)
        if copied is not None:
            assert asked.swap_in(copied)
    flush(log)
    return cleaning.end_offset


def no_pace(_: int) -> None:
    """As fast as it goes."""


def records_of(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    """(offset, key, value) of everything that a consumer finds, control records left out."""
    found: list[tuple[int, bytes | None, bytes | None]] = []
    offset = log.start_offset
    while part := log.read(offset, 1 << 20, up_to=log.end_offset):
        for header, batch in batches(part.read(), partial_end=True):
            if not header.is_control:
                found += [(r.offset, r.key, r.value) for r in read_records(batch)]
            offset = header.last_offset + 1
    return found


def check_files(disk: Disk, log: Log) -> None:
    """Segments do not overlap, and every entry of an offset index leads to the batch that it names."""
    for segment, following in pairwise(log.segments()):
        found = {
            (each.header.last_offset, each.position)
            for each in scan.headers(segment.file, 0, segment.size)
        }
        assert max((last for last, _ in found), default=-1) < following.base_offset
        index = OffsetIndex.parse(disk.read(segment.path(INDEX)))
        bases = [segment.base_offset + offset for offset in index.offsets]
        assert set(zip(bases, index.positions, strict=True)) <= found
