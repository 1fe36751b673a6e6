"""Opening a partition's directory: what is there, where it ends, and what it says of producers and leaders.

After a clean stop nothing is rescanned: the end is found from the last index entry, the producers in the newest
snapshot. After a crash what stands above the recovery point is read again, checked, and cut at the first batch that is
not whole; reading begins at the last landmark before (log.py), or else where that segment begins. What lies
below the recovery point was safe on disk: damage there is reported, never cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from klamm.base.settings.topic import TopicSettings
from klamm.log import scan
from klamm.log.compaction.swap_recovery import finish_swaps
from klamm.log.disk import Disk
from klamm.log.flush import EPOCHS_FILE
from klamm.log.index import offset_index
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.results import DamagedLog
from klamm.log.segment import (
    CLEANED,
    DELETED,
    INDEX,
    LOG,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    Segment,
)
from klamm.log.state import producer_snapshot, replay
from klamm.log.state.epochs import LeaderEpochs
from klamm.log.state.producers import ProducerStates
from klamm.protocol.records.batch import check_crc

TEMPORARY = ".tmp"
# A snapshot knows only the last batch of a producer, but clients may send the last five again: so much is read in any case.
REREAD_BYTES = 8 * 1024 * 1024
_BASE_DIGITS = 20


class Recovered(NamedTuple):
    """What opening after a crash did; the shell tells the operator."""

    scanned_bytes: int = 0
    cut_bytes: int = 0
    # Base offsets of batches below the recovery point whose checksum is wrong.
    damaged: tuple[int, ...] = ()


@dataclass(slots=True)
class Loaded:
    segments: list[Segment]
    end_offset: int
    epochs: LeaderEpochs
    producers: ProducerStates
    recovery_point: int
    # Where the newest snapshot of the producers stands; -1 if there is none to rely on.
    snapshot_offset: int = -1
    is_clean: bool = True
    recovered: Recovered = field(default_factory=Recovered)


def load(
    disk: Disk,
    directory: str,
    settings: TopicSettings,
    *,
    clean: bool,
    recovery_point: int,
    is_young: bool,
    log_start_offset: int,
) -> Loaded:
    files = _tidied(disk, directory)
    segments = _segments(disk, directory, files)
    if not segments:
        segments = [create_segment(disk, directory, log_start_offset)]
    end = _find_end(segments[-1]) if clean else None
    if end is None:
        recovery = _Recovery(disk, directory, files, segments, settings, recovery_point)
        recovery.is_young = is_young
        return recovery.run(log_start_offset)
    epochs = _read_epochs(disk, directory, files, segments, log_start_offset)
    producers = _load_producers(disk, directory, files, segments, end)
    newest = _forget_stray_snapshots(disk, directory, files, segments, end)
    return Loaded(segments, end, epochs, producers, end, newest)


def create_segment(disk: Disk, directory: str, base_offset: int) -> Segment:
    segment = Segment(disk, directory, base_offset)
    segment.create()
    return segment


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{offset:020d}{SNAPSHOT}"


class _Files(NamedTuple):
    """One listing of a directory: the offsets in the names, by what follows them, and all other names."""

    offsets: dict[str, list[int]]
    others: list[str]

    def of(self, suffix: str) -> list[int]:
        return self.offsets.get(suffix, [])


def _listed(disk: Disk, directory: str) -> _Files:
    files = _Files({}, [])
    for name in disk.listdir(directory):
        digits, suffix = name[:_BASE_DIGITS], name[_BASE_DIGITS:]
        if suffix[:1] == "." and digits.isdigit():
            files.offsets.setdefault(suffix, []).append(int(digits))
        else:
            files.others.append(name)
    for offsets in files.offsets.values():
        offsets.sort()
    return files


def _tidied(disk: Disk, directory: str) -> _Files:
    """Finish what a crash interrupted: files on their way out go, swaps by the compactor are completed."""
    files = _listed(disk, directory)
    deleted = [suffix for suffix in files.offsets if suffix.endswith((DELETED, TEMPORARY))]
    half_written = [name for name in files.others if name.endswith(TEMPORARY)]
    has_copies = any(suffix.endswith((CLEANED, SWAP)) for suffix in files.offsets)
    if not (deleted or half_written or has_copies):
        return files
    for name in half_written:
        disk.remove(f"{directory}/{name}")
    for suffix in deleted:
        _remove(disk, directory, suffix, files.of(suffix))
    if has_copies:
        finish_swaps(disk, directory, files.offsets)
    return _listed(disk, directory)


def _remove(disk: Disk, directory: str, suffix: str, offsets: list[int]) -> None:
    for offset in offsets:
        disk.remove(f"{directory}/{offset:020d}{suffix}")


def _segments(disk: Disk, directory: str, files: _Files) -> list[Segment]:
    segments = {}
    for base in files.of(LOG):
        size = disk.file_size(f"{directory}/{base:020d}{LOG}")
        segments[base] = Segment(disk, directory, base, size)
    for suffix in (INDEX, TIME_INDEX, TXN_INDEX):
        # Without its log an index is a leftover: the segment was on the way out when the machine stopped.
        orphans = [base for base in files.of(suffix) if base not in segments]
        _remove(disk, directory, suffix, orphans)
    for base in files.of(TXN_INDEX):
        if base in segments:
            segments[base].has_aborted = True
    return list(segments.values())


def _find_end(segment: Segment) -> int | None:
    """The offset behind the last batch, by a walk from the last index entry; None if the file does not end there."""
    if not segment.size:
        return segment.base_offset
    position, end, at = 0, segment.base_offset, 0
    if segment.size > offset_index.USUAL_INTERVAL_BYTES:
        position = segment.last_indexed_position()
    for found in scan.headers(segment.file, position, segment.size):
        end, at = found.header.last_offset + 1, found.position + found.size
    return end if at == segment.size else None


def _read_epochs(
    disk: Disk, directory: str, files: _Files, segments: list[Segment], log_start_offset: int
) -> LeaderEpochs:
    """From their file, or from the batches if a crash left it torn, or written when the log began later."""
    if EPOCHS_FILE in files.others:
        try:
            epochs = LeaderEpochs.parse(disk.read(f"{directory}/{EPOCHS_FILE}").decode())
            start = max(log_start_offset, segments[0].base_offset) if segments else 0
            if not epochs.entries or epochs.entries[0].start_offset <= start:
                return epochs
        except ValueError:
            pass
    epochs = LeaderEpochs()
    for segment in segments:
        if segment.size:
            for found in scan.headers(segment.file, 0, segment.size, window=scan.WIDE):
                if found.header.leader_epoch != epochs.latest:
                    epochs.assign(found.header.leader_epoch, found.header.base_offset)
    return epochs


def _load_producers(
    disk: Disk,
    directory: str,
    files: _Files,
    segments: list[Segment],
    end: int,
    *,
    replay_from: int | None = None,
) -> ProducerStates:
    """The newest usable snapshot at or below the offset, and what the log says from there up to it.

    replay_from: the snapshot must be older, so that the log is read from there on at least.
    """
    snapshot_end = end if replay_from is None else replay_from
    states, at = _newest_snapshot(disk, directory, files.of(SNAPSHOT), snapshot_end)
    for number, segment in enumerate(segments):
        next_base = segments[number + 1].base_offset if number + 1 < len(segments) else end
        if next_base <= at or segment.base_offset >= end or not segment.size:
            continue
        first = segment.find(at)
        if first is None:
            continue
        file = segment.file
        for found in scan.headers(file, first.position, segment.size, window=scan.WIDE):
            if found.header.base_offset >= end:
                break
            if found.header.base_offset >= at:
                replay.note_found(states, file, found)
    return states


def _newest_snapshot(
    disk: Disk, directory: str, offsets: list[int], end: int
) -> tuple[ProducerStates, int]:
    """Those that turn out to be torn are removed, also from the list."""
    for offset in [offset for offset in reversed(offsets) if offset <= end]:
        states = producer_snapshot.parse(disk.read(snapshot_path(directory, offset)))
        if states is not None:
            return states, offset
        disk.remove(snapshot_path(directory, offset))
        offsets.remove(offset)
    return ProducerStates(), 0


def _forget_stray_snapshots(
    disk: Disk, directory: str, files: _Files, segments: list[Segment], end: int
) -> int:
    """Keep the snapshots where segments begin, and the newest; returns where that one stands, -1 for none."""
    offsets = files.of(SNAPSHOT)
    newest = max((offset for offset in offsets if offset <= end), default=-1)
    if offsets != [newest]:
        kept = {
            newest,
            *(segment.base_offset for segment in segments if segment.base_offset <= end),
        }
        _remove(disk, directory, SNAPSHOT, [offset for offset in offsets if offset not in kept])
    return newest


def reload_producers(
    disk: Disk, directory: str, segments: list[Segment], end: int
) -> ProducerStates:
    """The producers as they were before the offset, after the log was cut there; none if nothing is left of it."""
    _forget_snapshots_after(disk, directory, end if segments else -1)
    return _load_producers(disk, directory, _listed(disk, directory), segments, end)


def recall_ends(
    disk: Disk, directory: str, segments: list[Segment], high_watermark: int, end: int
) -> ProducerStates | None:
    """The producers with all transactions that ended at the high watermark or above it; None if none did.

    A snapshot does not tell of ends; what stands above the high watermark may still be cut, and the end with it.
    """
    # From the one that holds it on.
    at = sum(segment.base_offset <= high_watermark for segment in segments) - 1
    if not any(
        found.header.is_control
        for segment in segments[max(at, 0) :]
        if segment.size and (first := segment.find(high_watermark)) is not None
        for found in scan.headers(segment.file, first.position, segment.size, window=scan.WIDE)
    ):
        return None
    files = _listed(disk, directory)
    return _load_producers(disk, directory, files, segments, end, replay_from=high_watermark)


def _forget_snapshots_after(disk: Disk, directory: str, offset: int) -> None:
    offsets = _listed(disk, directory).of(SNAPSHOT)
    _remove(disk, directory, SNAPSHOT, [at for at in offsets if at > offset])


def _aborted_before(segment: Segment, offset: int) -> Iterator[AbortedTransaction]:
    """Those whose marker stands before the offset. Entries that came later may be torn, and say anything."""
    # A segment may begin with a marker, but not the log.
    previous = max(segment.base_offset - 1, 0)
    for entry in segment.aborted():
        if not previous < entry.last_offset < offset:
            return
        previous = entry.last_offset
        yield entry


class _Landmark(NamedTuple):
    """Where a batch begins, in a segment of which all that stands before is known to be good."""

    offset: int
    position: int


class _Recovery:
    """One pass over the segments that a crash may have hurt."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        files: _Files,
        segments: list[Segment],
        settings: TopicSettings,
        recovery_point: int,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._files = files
        self._segments = segments
        self._settings = settings
        self._recovery_point = recovery_point
        # It was made since recovery points were last written down, so that zero is one.
        self.is_young = False
        self._is_compacted = "compact" in settings.cleanup_policy
        self._scanned = self._cut = 0
        self._damaged: list[int] = []

    def run(self, log_start_offset: int) -> Loaded:
        segments = self._segments
        first = max(
            (i for i, s in enumerate(segments) if s.base_offset <= self._recovery_point), default=0
        )
        landmark = self._find_landmark(first)
        base = segments[first].base_offset if landmark is None else landmark.offset
        epochs = _read_epochs(
            self._disk,
            self._directory,
            self._files,
            segments[: first + (landmark is not None)],
            log_start_offset,
        )
        epochs.truncate_from_end(base)
        producers = _load_producers(
            self._disk, self._directory, self._files, segments[: first + 1], base
        )
        _forget_stray_snapshots(self._disk, self._directory, self._files, segments, base)
        end = base
        for number in range(first, len(segments)):
            segment = segments[number]
            if number > first and segment.base_offset < end:
                raise DamagedLog(segments[number - 1].path(), 0)
            if number > first and self._is_behind_a_hole(segment, end):
                self._drop(segments, number)
                break
            size = segment.size
            if number == first and landmark is not None:
                end = self._recover_segment(segment, epochs, producers, landmark)
            else:
                self._write_snapshot(segment.base_offset, producers)
                end = self._recover_segment(segment, epochs, producers)
            if segment.size < size:
                self._drop(segments, number + 1)
                self._cut_file(segment, size)
                break
        epochs.truncate_from_end(end)
        recovered = Recovered(self._scanned, self._cut, tuple(self._damaged))
        return Loaded(
            segments,
            end,
            epochs,
            producers,
            # What the crash left above it is there, but not yet sure to survive the next one.
            min(self._recovery_point, end),
            is_clean=False,
            recovered=recovered,
        )

    def _is_behind_a_hole(self, segment: Segment, end: int) -> bool:
        """Did the tail of the segment before get lost, while this one reached the disk?

        Compaction leaves holes too, so this is asked only where it cannot have been, and never of a log whose
        recovery point is unknown: then nothing says that the hole is new. One that was made since recovery points were
        last written down has none yet, and was not compacted: that writes them down first.
        """
        is_known = self._recovery_point > 0 or self.is_young
        return segment.base_offset > end and is_known and not self._is_compacted

    def _find_landmark(self, number: int) -> _Landmark | None:
        """The last one in this segment that was safe, and far enough from the end; None if there is none."""
        segment = self._segments[number]
        behind = sum(each.size for each in self._segments[number + 1 :])
        for offset in reversed(self._files.of(SNAPSHOT)):
            if segment.base_offset < offset <= self._recovery_point:
                position = segment.position_of(offset)
                if position is not None and segment.size - position + behind >= REREAD_BYTES:
                    path = snapshot_path(self._directory, offset)
                    if producer_snapshot.parse(self._disk.read(path)) is not None:
                        return _Landmark(offset, position)
        return None

    def _recover_segment(
        self,
        segment: Segment,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        landmark: _Landmark | None = None,
    ) -> int:
        """Read it all, rebuild its indexes, cut behind the last good batch; returns the offset behind that."""
        size, end, start = segment.size, segment.base_offset, 0
        aborted: list[AbortedTransaction] = []
        if landmark is None:
            segment.reset(self._settings)
        else:
            end, start = landmark
            aborted += _aborted_before(segment, end)
            segment.resume(self._settings, end, start)
        last_base = previous_end = end
        for found, batch in scan.batches(segment.file, start, size):
            header = found.header
            if header.base_offset < end:
                if last_base > previous_end and not self._is_compacted and check_crc(batch):
                    # Checksums do not cover offsets: not this whole batch, the one that came too early is wrong.
                    raise DamagedLog(segment.path(), found.position)
                break
            if not check_crc(batch) or header.last_offset > segment.offset_limit:
                if header.last_offset >= self._recovery_point:
                    break
                self._damaged.append(header.base_offset)
            if header.leader_epoch != epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)
            entry = replay.note_producer(producers, header, batch)
            if entry is not None:
                aborted.append(entry)
            segment.count(found.size, header.last_offset, header.max_timestamp)
            last_base, previous_end, end = header.base_offset, end, header.last_offset + 1
        if segment.size < size and (
            end < self._recovery_point or self._damaged[-1:] == [last_base]
        ):
            # Or the last batch is damaged, and so may be its length: then nobody knows where the next one begins.
            raise DamagedLog(segment.path(), segment.size)
        self._scanned += size - start
        segment.replace_aborted(aborted)
        segment.seal()
        return end

    # What is cut goes for good, the newest first, before anything is appended: if another crash brought back old batches
    # among the new ones, nothing in the files would tell them apart.

    def _drop(self, segments: list[Segment], start: int) -> None:
        while len(segments) > start:
            segment = segments.pop()
            self._cut += segment.size
            segment.remove()
            self._disk.fsync_dir(self._directory)

    def _cut_file(self, segment: Segment, size: int) -> None:
        self._cut += size - segment.size
        file = segment.file
        file.truncate(segment.size)
        file.fsync()

    def _write_snapshot(self, offset: int, producers: ProducerStates) -> None:
        """One that is there was good enough to start from, and may know of producers whose records are gone."""
        path = snapshot_path(self._directory, offset)
        if offset > 0 and not self._disk.exists(path):
            self._disk.write(path, producer_snapshot.to_bytes(producers))
