"""Opening a partition's directory: what is there, where it ends, and what it says of producers and leaders.

After a clean stop nothing is rescanned: the end is found from the last index entry, the producers in the newest
snapshot. After a crash every segment above the recovery point is read again, checked, and cut at the first batch that
is not whole. What lies below the recovery point was safe on disk: damage there is reported, never cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from klamm.base.settings.topic import TopicSettings
from klamm.log import scan
from klamm.log.disk import Disk
from klamm.log.index import offset_index
from klamm.log.results import DamagedLog
from klamm.log.segment import (
    DELETED,
    INDEX,
    LOG,
    SNAPSHOT,
    SUFFIXES,
    TIME_INDEX,
    TXN_INDEX,
    Segment,
)
from klamm.log.state import producer_snapshot, replay
from klamm.log.state.epochs import LeaderEpochs
from klamm.log.state.producers import ProducerStates
from klamm.protocol.records.batch import check_crc

EPOCHS_FILE = "leader-epoch-checkpoint"
CLEANED, SWAP, TEMPORARY = ".cleaned", ".swap", ".tmp"
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
    # Where the newest snapshot of the producers stands; -1 if there is none to rely on.
    snapshot_offset: int = -1
    recovered: Recovered = field(default_factory=Recovered)


def load(
    disk: Disk,
    directory: str,
    settings: TopicSettings,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
) -> Loaded:
    names = _tidy(disk, directory)
    segments = _segments(disk, directory, names)
    if not segments:
        segments = [create_segment(disk, directory, log_start_offset)]
    end = _find_end(segments[-1], names) if clean else None
    if end is not None:
        epochs = _read_epochs(disk, directory, names, segments)
        producers = _load_producers(disk, directory, names, segments, end)
        newest = _forget_stray_snapshots(disk, directory, names, segments, end)
        return Loaded(segments, end, epochs, producers, newest)
    return _Recovery(disk, directory, names, segments, settings, recovery_point).run()


def create_segment(disk: Disk, directory: str, base_offset: int) -> Segment:
    segment = Segment(disk, directory, base_offset)
    disk.open(segment.path(), create=True).close()
    return segment


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{offset:020d}{SNAPSHOT}"


def snapshot_offsets(names: list[str]) -> list[int]:
    return sorted(int(name[:_BASE_DIGITS]) for name in names if _is_file_of(name, SNAPSHOT))


def _is_file_of(name: str, suffix: str) -> bool:
    return (
        name.endswith(suffix)
        and len(name) == _BASE_DIGITS + len(suffix)
        and name[:_BASE_DIGITS].isdigit()
    )


def _tidy(disk: Disk, directory: str) -> list[str]:
    """Finish what a crash interrupted: files on their way out go, swaps by the compactor are completed."""
    names = disk.listdir(directory)
    if not any(name.endswith((DELETED, CLEANED, SWAP, TEMPORARY)) for name in names):
        return names
    unfinished = [int(n[:_BASE_DIGITS]) for n in names if n.endswith(LOG + CLEANED)]
    for name in names:
        if name.endswith((DELETED, CLEANED, TEMPORARY)):
            disk.remove(f"{directory}/{name}")
    for name in sorted(n for n in names if n.endswith(LOG + SWAP)):
        base = int(name[:_BASE_DIGITS])
        if not unfinished or base < min(unfinished):
            _complete_swap(disk, directory, base)
    for name in disk.listdir(directory):
        if name.endswith(SWAP):
            disk.remove(f"{directory}/{name}")
    return disk.listdir(directory)


def _complete_swap(disk: Disk, directory: str, base: int) -> None:
    """The compacted copy was whole: it takes the place of every segment it was made from."""
    path = f"{directory}/{base:020d}{LOG}{SWAP}"
    file = disk.open(path)
    last = base
    for found in scan.headers(file, 0, file.size(), window=scan.WIDE):
        last = found.header.last_offset
    for name in disk.listdir(directory):
        if _is_file_of(name, LOG) and base <= int(name[:_BASE_DIGITS]) <= last:
            Segment(disk, directory, int(name[:_BASE_DIGITS])).remove()
    for suffix in SUFFIXES:
        target = f"{directory}/{base:020d}{suffix}"
        if disk.exists(target + SWAP):
            disk.rename(target + SWAP, target)


def _segments(disk: Disk, directory: str, names: list[str]) -> list[Segment]:
    segments: dict[str, Segment] = {}
    for name in sorted(name for name in names if _is_file_of(name, LOG)):
        digits = name[:_BASE_DIGITS]
        size = disk.file_size(f"{directory}/{name}")
        segments[digits] = Segment(disk, directory, int(digits), size)
    for name in names:
        if not name.endswith((INDEX, TIME_INDEX, TXN_INDEX)):
            continue
        segment = segments.get(name[:_BASE_DIGITS])
        if segment is None:
            # Its segment was on the way out when the machine stopped.
            disk.remove(f"{directory}/{name}")
        elif name.endswith(TXN_INDEX):
            segment.has_aborted = True
    return list(segments.values())


def _find_end(segment: Segment, names: list[str]) -> int | None:
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
    disk: Disk, directory: str, names: list[str], segments: list[Segment]
) -> LeaderEpochs:
    if EPOCHS_FILE in names:
        try:
            return LeaderEpochs.parse(disk.read(f"{directory}/{EPOCHS_FILE}").decode())
        except ValueError:
            # Only a crash leaves such a file; what it said is in the batches.
            pass
    epochs = LeaderEpochs()
    for segment in segments:
        if segment.size:
            for found in scan.headers(segment.file, 0, segment.size, window=scan.WIDE):
                if found.header.leader_epoch != epochs.latest:
                    epochs.assign(found.header.leader_epoch, found.header.base_offset)
    return epochs


def _load_producers(
    disk: Disk, directory: str, names: list[str], segments: list[Segment], end: int
) -> ProducerStates:
    """The newest usable snapshot at or below the offset, and what the log says from there up to it."""
    states, at = _newest_snapshot(disk, directory, names, end)
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


def reload_producers(
    disk: Disk, directory: str, segments: list[Segment], end: int
) -> ProducerStates:
    """The producers as they were before the offset, after the log was cut there."""
    names = disk.listdir(directory)
    for offset in snapshot_offsets(names):
        if offset > end or not segments:
            disk.remove(snapshot_path(directory, offset))
    if not segments:
        return ProducerStates()
    return _load_producers(disk, directory, names, segments, end)


def _forget_stray_snapshots(
    disk: Disk, directory: str, names: list[str], segments: list[Segment], end: int
) -> int:
    """Keep the snapshots where segments begin, and the newest; returns where that one stands, -1 for none."""
    offsets = snapshot_offsets(names)
    newest = max((offset for offset in offsets if offset <= end), default=-1)
    if offsets != [newest]:
        kept = {newest, *(segment.base_offset for segment in segments)}
        for offset in offsets:
            if offset not in kept:
                disk.remove(snapshot_path(directory, offset))
    return newest


def _newest_snapshot(
    disk: Disk, directory: str, names: list[str], end: int
) -> tuple[ProducerStates, int]:
    for offset in reversed(snapshot_offsets(names)):
        if offset <= end:
            states = producer_snapshot.parse(disk.read(snapshot_path(directory, offset)))
            if states is not None:
                return states, offset
            disk.remove(snapshot_path(directory, offset))
    return ProducerStates(), 0


class _Recovery:
    """One pass over the segments that a crash may have hurt."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        names: list[str],
        segments: list[Segment],
        settings: TopicSettings,
        recovery_point: int,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._names = names
        self._segments = segments
        self._settings = settings
        self._recovery_point = recovery_point
        self._scanned = self._cut = 0
        self._damaged: list[int] = []

    def run(self) -> Loaded:
        segments = self._segments
        first = max(
            (i for i, s in enumerate(segments) if s.base_offset <= self._recovery_point), default=0
        )
        base = segments[first].base_offset
        epochs = _read_epochs(self._disk, self._directory, self._names, segments[:first])
        epochs.truncate_from_end(base)
        producers = _load_producers(
            self._disk, self._directory, self._names, segments[: first + 1], base
        )
        self._forget_snapshots_after(base)
        end = base
        for number in range(first, len(segments)):
            segment = segments[number]
            if number > first and self._is_behind_a_hole(segment, end):
                self._drop(segments, number)
                break
            self._write_snapshot(segment.base_offset, producers)
            size = segment.size
            end = self._recover_segment(segment, epochs, producers)
            if segment.size < size:
                self._drop(segments, number + 1)
                break
        epochs.truncate_from_end(end)
        recovered = Recovered(self._scanned, self._cut, tuple(self._damaged))
        return Loaded(segments, end, epochs, producers, recovered=recovered)

    def _is_behind_a_hole(self, segment: Segment, end: int) -> bool:
        """Did the tail of the segment before get lost, while this one reached the disk?

        Compaction leaves holes too, so this is asked only where it cannot have been, and never of a log whose
        recovery point is unknown: then nothing says that the hole is new.
        """
        return (
            segment.base_offset > end
            and self._recovery_point > 0
            and "compact" not in self._settings.cleanup_policy
        )

    def _recover_segment(
        self, segment: Segment, epochs: LeaderEpochs, producers: ProducerStates
    ) -> int:
        """Read it all, rebuild its indexes, cut behind the last good batch; returns the offset behind that."""
        size, end = segment.size, segment.base_offset
        segment.reset(self._settings)
        for found, batch in scan.batches(segment.file, 0, size):
            header = found.header
            if header.base_offset < end:
                break
            if not check_crc(batch):
                if header.last_offset >= self._recovery_point:
                    break
                self._damaged.append(header.base_offset)
            if header.leader_epoch != epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)
            aborted = replay.note_producer(producers, header, batch)
            if aborted is not None:
                segment.add_aborted(aborted)
            segment.count(found.size, header.last_offset, header.max_timestamp)
            end = header.last_offset + 1
        if segment.size < size and end < self._recovery_point:
            raise DamagedLog(segment.path(), segment.size)
        self._scanned += size
        self._cut += size - segment.size
        if segment.size < size:
            segment.file.truncate(segment.size)
        segment.seal()
        return end

    def _drop(self, segments: list[Segment], start: int) -> None:
        for segment in segments[start:]:
            self._cut += segment.size
            segment.remove()
            self._forget_snapshots_after(segment.base_offset - 1)
        del segments[start:]

    def _forget_snapshots_after(self, offset: int) -> None:
        for at in snapshot_offsets(self._disk.listdir(self._directory)):
            if at > offset:
                self._disk.remove(snapshot_path(self._directory, at))

    def _write_snapshot(self, offset: int, producers: ProducerStates) -> None:
        if offset > 0:
            path = snapshot_path(self._directory, offset)
            self._disk.write(path, producer_snapshot.to_bytes(producers))
