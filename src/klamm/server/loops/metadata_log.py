"""The metadata log on disk: its segments, its snapshots and the quorum-state file, in Kafka's places.

Reads what is there, writes snapshots, and drops what they make superfluous. It knows files and bytes and decides nothing:
the drivers over it say when to write. To the raft machine it is the RaftLog.
"""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, CorruptFrame
from klamm.base.ids import METADATA_PARTITION, METADATA_TOPIC_ID, OffsetAndEpoch
from klamm.base.settings.quorum import QuorumSettings
from klamm.base.settings.topic import TopicSettings
from klamm.log.disk import Disk
from klamm.log.log import Log
from klamm.log.results import Origin
from klamm.metadata import framing, snapshot
from klamm.metadata.image import ClusterImage
from klamm.protocol.records.batch import BatchHeader, BytesLike, batches
from klamm.protocol.records.control import read_control_messages
from klamm.protocol.records.reader import read_records
from klamm.raft import election_state
from klamm.raft.election_state import CorruptElectionState, ElectionState
from klamm.raft.messages import Batch
from klamm.raft.voters import VoterRecords
from klamm.server.quorum.snapshot_files import SnapshotFiles, voters_in
from klamm.server.storage import BOOTSTRAP, StorageError

QUORUM_STATE = "quorum-state"
# How much of the log is replayed at a time.
_READ_BYTES = 1 << 20


class MetadataLog:
    """`log` is open for appending; `files` are its snapshots."""

    __slots__ = (
        "_directory",
        "_disk",
        "_settings",
        "bytes_since_snapshot",
        "files",
        "log",
        "path",
    )

    def __init__(self, disk: Disk, directory: str, settings: QuorumSettings, now: Ms) -> None:
        self._disk = disk
        self._directory = directory
        self._settings = settings
        self.path = f"{directory}/{METADATA_PARTITION}"
        # How much of the log a start has to read behind the newest snapshot.
        self.bytes_since_snapshot = 0
        if not disk.exists(self.path):
            disk.mkdir(self.path)
            disk.fsync_dir(directory)
        self.files = SnapshotFiles(disk, self.path)
        newest = self.newest_snapshot
        try:
            # What a snapshot covers was committed, so only what follows it can have been hurt by a crash.
            self.log = Log.open(
                disk,
                self.path,
                _log_settings(settings),
                now=now,
                clean=False,
                recovery_point=newest.offset if newest else 0,
                topic_id=METADATA_TOPIC_ID,
            )
        except ApiError as error:
            raise StorageError(f"The metadata log cannot be opened: {error.message}") from error
        if newest and _lacks(self.log, newest):
            # A snapshot is written after the log it covers; this one came from the leader, or without its log.
            self.log.truncate_fully_and_start_at(newest.offset)

    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None:
        return self.files.ids[-1] if self.files.ids else None

    @property
    def end(self) -> OffsetAndEpoch:
        """Where the log ends, and the epoch of its last batch."""
        newest = self.newest_snapshot
        epochs = (self.log.epochs.latest or 0, newest.epoch if newest else 0)
        return OffsetAndEpoch(self.log.end_offset, max(epochs))

    # What the raft machine asks

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        return self.files.ids[0] if self.files.ids else None

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        found = self.log.epochs.end_offset_for(epoch, self.log.end_offset)
        return OffsetAndEpoch(found[1], found[0]) if found else self.end

    def epoch_before(self, offset: int) -> int:
        if offset > self.log.start_offset:
            return self.log.epochs.epoch_of(offset - 1) or 0
        return max((each.epoch for each in self.files.ids if each.offset <= offset), default=0)

    # Reading

    def load_snapshot(self, cluster_id: str) -> ClusterImage:
        """What the newest snapshot says; the log goes on behind it."""
        newest = self.newest_snapshot
        if newest is None:
            if self.log.start_offset > 0:
                raise StorageError(
                    f"The metadata log in {self.path} cannot be read: it begins at "
                    f"{self.log.start_offset} and has no snapshot."
                )
            return ClusterImage(cluster_id=cluster_id)
        return snapshot.read(self.files.read(newest), newest, cluster_id=cluster_id)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """For whoever follows this node: batches as they are, one at least if there is any."""
        found = self.log.read(offset, max_bytes, up_to=self.log.end_offset)
        return found.read() if found is not None else b""

    def load_voters(self) -> list[tuple[int, VoterRecords]]:
        """What the newest snapshot and the log behind it say of the voters, each with its offset."""
        records = VoterRecords()
        newest = self.newest_snapshot
        if newest is not None:
            records = voters_in(self.files.read(newest))
        found = [(newest.offset - 1, records)] if newest and records.messages else []
        for header, batch in self._raw_batches(newest.offset if newest else 0, self.log.end_offset):
            self.bytes_since_snapshot += header.size
            for message in read_control_messages(batch) if header.is_control else ():
                if (after := records.after(message)) is not records:
                    records = after
                    found.append((header.base_offset, records))
        return found

    def batches(self, offset: int, end: int) -> Iterator[tuple[BatchHeader, list[object]]]:
        """The metadata records from the offset on; control batches have none."""
        for header, batch in self._raw_batches(offset, end):
            records: list[object] = []
            if not header.is_control:
                try:
                    records = [framing.decode(record.value) for record in read_records(batch)]
                except CorruptFrame as error:
                    raise self._unreadable(error) from error
            yield header, records

    def _raw_batches(self, offset: int, end: int) -> Iterator[tuple[BatchHeader, BytesLike]]:
        while offset < end:
            found = self.log.read(offset, _READ_BYTES, up_to=end)
            assert found is not None
            try:
                for header, batch in batches(found.read(), partial_end=True):
                    if header.last_offset < offset:
                        continue
                    if header.base_offset >= end:
                        return
                    yield header, batch
                    offset = header.last_offset + 1
            except CorruptFrame as error:
                raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> StorageError:
        return StorageError(f"The metadata log in {self.path} cannot be read: {error}.")

    # Writing

    def append(self, batch: Batch) -> None:
        """A batch has its place and its epoch already, whether it is this node's or another leader's."""
        self.log.append(
            batch.data, leader_epoch=batch.epoch, now=batch.timestamp, origin=Origin.REPLICATION
        )
        self.bytes_since_snapshot += len(batch.data)

    def bootstrap_records(self) -> list[object]:
        """What the directory was formatted with."""
        path = f"{self._directory}/{BOOTSTRAP}"
        if not self._disk.exists(path):
            raise StorageError(f"{path} is missing: the directory was not formatted completely.")
        try:
            return [each for part in snapshot.read_batches(self._disk.read(path)) for each in part]
        except CorruptFrame as error:
            raise StorageError(f"{path} cannot be read: {error}.") from error

    # The election

    def read_election(self) -> ElectionState:
        path = f"{self.path}/{QUORUM_STATE}"
        if not self._disk.exists(path):
            return ElectionState()
        try:
            return election_state.parse(self._disk.read(path).decode("utf-8", "replace"))
        except CorruptElectionState as error:
            raise StorageError(f"{path} cannot be read: {error}.") from error

    def write_election(self, state: ElectionState) -> None:
        self._disk.write_atomic(f"{self.path}/{QUORUM_STATE}", election_state.dump(state).encode())

    # Snapshots

    def write_snapshot(self, image: ClusterImage, voters: VoterRecords, now: Ms) -> OffsetAndEpoch:
        """May run in a worker thread: it touches nothing but the image, which does not change, and a new file."""
        at = OffsetAndEpoch(image.offset + 1, image.epoch)
        path = f"{self.path}/{snapshot.file_name(at)}"
        self._disk.write_atomic(path, snapshot.write(image, now, voters.messages))
        return at

    def note_snapshot(self, at: OffsetAndEpoch, now: Now) -> None:
        """The snapshot is on disk: begin a new segment behind it, so that a start reads no more than that."""
        self.files.written(at)
        self.bytes_since_snapshot = 0
        self.log.roll(now.wall)
        self._drop_old(now)

    def restart_at(self, at: OffsetAndEpoch, now: Now) -> None:
        """A snapshot of the leader's takes the place of the log and of all older snapshots."""
        self.files.drop_part()
        self.files.written(at)
        self.log.truncate_fully_and_start_at(at.offset, now.wall)
        self.bytes_since_snapshot = 0
        while self.files.ids[0] != at:
            self.files.drop_oldest()

    def _drop_old(self, now: Now) -> None:
        """Old snapshots go by age and size, and with each the log up to the next one. The newest always stays."""
        while len(self.files.ids) > 1 and self._has_too_much(now):
            following = self.files.ids[1]
            self.files.drop_oldest()
            self.log.advance_start(following.offset)
            self.log.retain(now.wall, up_to=following.offset)
            self.log.remove_deleted(now.wall)

    def _has_too_much(self, now: Now) -> bool:
        settings = self._settings
        oldest = self.files.ids[0]
        if self.files.is_pinned(oldest, now.monotonic):
            return False
        if settings.metadata_max_retention_ms >= 0:
            last = snapshot.last_timestamp_of(self.files.read(oldest))
            if now.wall - last > settings.metadata_max_retention_ms:
                return True
        if settings.metadata_max_retention_bytes < 0:
            return False
        size = self.log.size_bytes() + sum(map(self.files.size, self.files.ids))
        return size > settings.metadata_max_retention_bytes


def _lacks(log: Log, newest: OffsetAndEpoch) -> bool:
    """Whether the snapshot knows more than the log: its last record is not there, or another is in its place."""
    return log.end_offset < newest.offset or (log.epochs.latest or 0) < newest.epoch


def _log_settings(settings: QuorumSettings) -> TopicSettings:
    """Nothing expires by itself: segments go when a snapshot has made them superfluous."""
    return TopicSettings(
        cleanup_policy=(),
        retention_ms=-1,
        retention_bytes=-1,
        # Nobody else reads these files, so nobody needs them a while longer.
        file_delete_delay_ms=0,
        segment_bytes=settings.metadata_log_segment_bytes,
        segment_ms=settings.metadata_log_segment_ms,
    )
