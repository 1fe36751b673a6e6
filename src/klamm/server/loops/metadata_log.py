"""The metadata log on disk: its segments, its snapshots and the quorum-state file, in Kafka's places.

Loads what is there into an image, writes snapshots, and drops what they make superfluous. Knows files and bytes;
it decides nothing, and the loop over it says when to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame
from klamm.base.ids import METADATA_TOPIC_ID, OffsetAndEpoch
from klamm.base.settings.quorum import QuorumSettings
from klamm.base.settings.topic import TopicSettings
from klamm.log.disk import Disk
from klamm.log.log import Log
from klamm.metadata import framing, snapshot
from klamm.metadata.delta import ReplayError
from klamm.metadata.image import ClusterImage
from klamm.metadata.replay import Replayer
from klamm.protocol.records.batch import BatchHeader, batches
from klamm.protocol.records.control import ControlMessage, read_control_messages
from klamm.protocol.records.reader import read_records
from klamm.raft import election_state
from klamm.raft.election_state import CorruptElectionState, ElectionState
from klamm.raft.voters import VoterRecords
from klamm.server.storage import BOOTSTRAP, StorageError

FOLDER = "__cluster_metadata-0"
QUORUM_STATE = "quorum-state"
# How much of the log is replayed at a time.
_READ_BYTES = 1 << 20


class MetadataLog:
    """`log` is open for appending; `snapshots` are those on disk, oldest first."""

    __slots__ = (
        "_directory",
        "_disk",
        "_settings",
        "log",
        "path",
        "replayed_bytes",
        "snapshots",
        "voters",
    )

    def __init__(self, disk: Disk, directory: str, settings: QuorumSettings, now: Ms) -> None:
        self._disk = disk
        self._directory = directory
        self._settings = settings
        self.path = f"{directory}/{FOLDER}"
        # How much of the log a start has to read behind the newest snapshot.
        self.replayed_bytes = 0
        self.voters = VoterRecords()
        if not disk.exists(self.path):
            disk.mkdir(self.path)
            disk.fsync_dir(directory)
        self.snapshots = self._find_snapshots()
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
        if newest and self.log.end_offset < newest.offset:
            # A snapshot is written after the log it covers; this one came here without it.
            self.log.truncate_fully_and_start_at(newest.offset)

    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None:
        return self.snapshots[-1] if self.snapshots else None

    @property
    def end(self) -> OffsetAndEpoch:
        """Where the log ends, and the epoch of its last batch."""
        newest = self.newest_snapshot
        epochs = (self.log.epochs.latest or 0, newest.epoch if newest else 0)
        return OffsetAndEpoch(self.log.end_offset, max(epochs))

    # Loading

    def load(self, cluster_id: str) -> Replayer:
        """Everything that is known: the newest snapshot, then the log behind it."""
        try:
            replayer = Replayer(self._load_snapshot(cluster_id))
            for header, records in self._batches(replayer.image.offset + 1):
                self.replayed_bytes += header.size
                replayer.replay(
                    records,
                    last_offset=header.last_offset,
                    epoch=header.leader_epoch,
                    timestamp=header.max_timestamp,
                )
        except (CorruptFrame, ReplayError) as error:
            raise StorageError(
                f"The metadata log in {self.path} cannot be read: {error}."
            ) from error
        return replayer

    def _load_snapshot(self, cluster_id: str) -> ClusterImage:
        newest = self.newest_snapshot
        if newest is None:
            if self.log.start_offset > 0:
                raise CorruptFrame(f"it begins at {self.log.start_offset} and has no snapshot")
            return ClusterImage(cluster_id=cluster_id)
        data = self._disk.read(f"{self.path}/{snapshot.file_name(newest)}")
        self._note_voters(snapshot.head_of(data))
        return snapshot.read(data, newest, cluster_id=cluster_id)

    def _note_voters(self, messages: Iterable[ControlMessage]) -> None:
        for message in messages:
            self.voters = self.voters.after(message)

    def _batches(self, offset: int) -> Iterator[tuple[BatchHeader, list[object]]]:
        end = self.log.end_offset
        while offset < end:
            found = self.log.read(offset, _READ_BYTES, up_to=end)
            assert found is not None
            for header, batch in batches(found.read(), partial_end=True):
                if header.last_offset < offset:
                    continue
                records: list[object] = []
                if header.is_control:
                    self._note_voters(read_control_messages(batch))
                else:
                    records = [framing.decode(record.value) for record in read_records(batch)]
                yield header, records
                offset = header.last_offset + 1

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

    def write_snapshot(self, image: ClusterImage, now: Ms) -> OffsetAndEpoch:
        """May run in a worker thread: it touches nothing but the image, which does not change, and a new file."""
        at = OffsetAndEpoch(image.offset + 1, image.epoch)
        path = f"{self.path}/{snapshot.file_name(at)}"
        self._disk.write_atomic(path, snapshot.write(image, now, self.voters.messages))
        return at

    def note_snapshot(self, at: OffsetAndEpoch, now: Ms) -> None:
        """The snapshot is on disk: begin a new segment behind it, so that a start reads no more than that."""
        self.snapshots.append(at)
        self.log.roll(now)
        self._drop_old(now)

    def _drop_old(self, now: Ms) -> None:
        """Old snapshots go by age and size, and with each the log up to the next one. The newest always stays."""
        while len(self.snapshots) > 1 and self._has_too_much(now):
            oldest, following = self.snapshots[0], self.snapshots[1]
            self._disk.remove(f"{self.path}/{snapshot.file_name(oldest)}")
            del self.snapshots[0]
            self.log.advance_start(following.offset)
            self.log.retain(now, up_to=following.offset)
            self.log.remove_deleted(now)

    def _has_too_much(self, now: Ms) -> bool:
        settings = self._settings
        oldest = f"{self.path}/{snapshot.file_name(self.snapshots[0])}"
        if settings.metadata_max_retention_ms >= 0:
            last = snapshot.last_timestamp_of(self._disk.read(oldest))
            if now - last > settings.metadata_max_retention_ms:
                return True
        if settings.metadata_max_retention_bytes < 0:
            return False
        files = (f"{self.path}/{snapshot.file_name(each)}" for each in self.snapshots)
        size = self.log.size_bytes() + sum(self._disk.file_size(file) for file in files)
        return size > settings.metadata_max_retention_bytes

    def _find_snapshots(self) -> list[OffsetAndEpoch]:
        names = self._disk.listdir(self.path)
        for name in names:
            # A crash, ours or Kafka's, while a snapshot was being written.
            if name.endswith((snapshot.SUFFIX + ".tmp", snapshot.SUFFIX + ".part")):
                self._disk.remove(f"{self.path}/{name}")
        return sorted(found for name in names if (found := snapshot.parse_name(name)))


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
