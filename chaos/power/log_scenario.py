"""A data directory with several logs, driven as the broker drives it, by chance: appends, flushes, stops and all the rest.

The shell around the logs (who flushes, who writes checkpoints, in which order) is played here, in the order of
server/loops; everything below it is the real thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from struct import pack

from chaos.power.model import UNCUT, History, Written, producers_after, read_all
from chaos.power.moments import Recorder
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log import log as log_module
from klamm.log import recovery
from klamm.log.compaction import selection
from klamm.log.compaction.cleaner import Cleaning
from klamm.log.compaction.round import Round
from klamm.log.flush import Flush
from klamm.log.log import Log
from klamm.log.results import Appended, Origin
from klamm.protocol.records.batch import Codec, stamp
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.storage.log_directories import LogDirectory
from klamm.testing.disk import MemoryDisk

PATH = "/data"
DIRECTORY_ID = Uuid(bytes(range(16)))
NOW = 1_750_000_000_000
EXPIRY_MS = 86_400_000

ORDERS, LEDGER, USERS = (TopicPartition(name, 0) for name in ("orders", "ledger", "users"))
IDEMPOTENT = (7, 8, 9)
TRANSACTIONAL = (17, 18)
KEYS = (b"ann", b"bob", b"cid", b"dan")

Promises = Mapping[TopicPartition, History]

# Logs are small here, and clients send only their last batch again.
log_module.LANDMARK_BYTES = 1_000
recovery.REREAD_BYTES = 0

# Segments large enough that sealed ones are searched by their index, and small enough to roll often.
_PLAIN = TopicSettings(
    segment_bytes=9_000,
    index_interval_bytes=1_000,
    retention_bytes=20_000,
    file_delete_delay_ms=3_000,
)
_SETTINGS = {
    ORDERS: _PLAIN,
    LEDGER: replace(_PLAIN, segment_bytes=6_000, retention_bytes=-1, index_interval_bytes=400),
    USERS: replace(
        _PLAIN,
        cleanup_policy=("compact",),
        segment_bytes=2_500,
        min_cleanable_dirty_ratio=0.0,
        file_delete_delay_ms=0,
    ),
}


class LogScenario:
    """`run` does all of it; `recorder` then has the moments."""

    def __init__(self, seed: int, *, share: float = 1.0) -> None:
        self.disk = MemoryDisk()
        self.disk.mkdir(PATH)
        self.rng = Random(seed)
        self.now = NOW
        self.epoch = 0
        self.histories: dict[TopicPartition, History] = {}
        self.recorder: Recorder[Promises] = Recorder(self.disk, self._promises, seed, share)
        self._sequences: dict[tuple[TopicPartition, int], int] = {}
        self._retired: list[tuple[int, str]] = []
        self._late = 0
        self.directory = LogDirectory(self.disk, PATH, DIRECTORY_ID)
        for name, settings in _SETTINGS.items():
            self._create(name, settings)

    def run(self, actions: int) -> None:
        table = _actions(self)
        for _ in range(actions):
            self.now += self.rng.randrange(1_000)
            self.disk.now_ms = self.now
            action = self.rng.choices(list(table), list(table.values()))[0]
            action()
        self.recorder.note()

    def _promises(self) -> Promises:
        return {name: history.promise() for name, history in self.histories.items()}

    def _log(self, history: History) -> Log:
        return self.directory.logs[history.name]

    def _any(self) -> History:
        return self.rng.choice(list(self.histories.values()))

    # Partitions --------------------------------------------------------------------------------

    def _create(self, name: TopicPartition, settings: TopicSettings) -> None:
        self.histories[name] = History(name, Uuid(self.rng.randbytes(16)), settings)
        self._open(self.histories[name])

    def _open(self, history: History) -> Log:
        return self.directory.open(
            history.name,
            history.settings,
            topic_id=history.topic_id,
            now=self.now,
            producer_expiry_ms=EXPIRY_MS,
        )

    def create_another(self) -> None:
        self._late += 1
        self._create(TopicPartition(f"late{self._late}", 0), _PLAIN)

    def delete_one(self) -> None:
        late = [name for name in self.histories if name not in _SETTINGS]
        if late:
            history = self.histories.pop(self.rng.choice(late))
            log = self.directory.forget(history.name)
            assert log is not None
            self._retired.append((self.now + history.settings.file_delete_delay_ms, log.delete()))

    def reconfigure(self) -> None:
        history = self._any()
        size = self.rng.choice((3_000, 6_000, 9_000))
        history.settings = replace(history.settings, segment_bytes=size)
        self._log(history).reconfigure(history.settings)

    # Appending ---------------------------------------------------------------------------------

    def append(self) -> None:
        history = self._any()
        producer = self.rng.choice((-1, *IDEMPOTENT))
        if history.name == LEDGER and self.rng.random() < 0.7:
            producer = self.rng.choice(TRANSACTIONAL)
        self._append(history, producer)

    def _append(self, history: History, producer: int) -> None:
        count = self.rng.randrange(1, 4)
        key = (history.name, producer)
        sequence = self._sequences.get(key, 0) if producer >= 0 else -1
        batch = build_batch(
            [self._record(history) for _ in range(count)],
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=sequence,
            transactional=producer in TRANSACTIONAL,
            codec=self.rng.choice((Codec.NONE, Codec.NONE, Codec.LZ4)),
        )
        self._write(history, batch, Origin.CLIENT)
        self._sequences[key] = sequence + count

    def _record(self, history: History) -> Record:
        key = self.rng.choice(KEYS) if history.is_compacted else None
        at = self.now - self.rng.choice((0, 0, 0, 5_000))
        return Record(timestamp=at, key=key, value=self.rng.randbytes(self.rng.randrange(600)))

    def _write(self, history: History, batch: bytearray, origin: Origin) -> Appended:
        log = self._log(history)
        expected = bytearray(batch)
        stamp(expected, 0, log.end_offset, self.epoch)
        history.pending = Written.of(expected)
        appended = log.append(batch, leader_epoch=self.epoch, now=self.now, origin=origin)
        assert not appended.duplicate
        history.batches.append(history.pending)
        history.pending = None
        return appended

    def end_transaction(self) -> None:
        history = self.histories[LEDGER]
        producer = self.rng.choice(TRANSACTIONAL)
        kind = self.rng.randrange(2)
        marker = Record(timestamp=self.now, key=pack(">hh", 0, kind), value=pack(">hi", 0, 0))
        batch = build_batch(
            [marker], producer_id=producer, producer_epoch=0, transactional=True, control=True
        )
        self._write(history, batch, Origin.COORDINATOR)

    def retry(self) -> None:
        """A client that did not hear the answer sends its last batch again: that one is known also after a restart."""
        history = self._any()
        known = producers_after(history.batches)
        if not known:
            return
        producer, state = self.rng.choice(list(known.items()))
        if state.batches and producer in IDEMPOTENT:
            first, last, offset, last_offset = state.batches[-1]
            batch = build_batch(
                [Record(timestamp=self.now, key=b"k", value=b"again")] * (last - first + 1),
                producer_id=producer,
                producer_epoch=state.epoch,
                base_sequence=first,
            )
            appended = self._log(history).append(batch, leader_epoch=self.epoch, now=self.now)
            assert appended[:2] == (offset, last_offset)
            assert appended.duplicate

    def lead_anew(self) -> None:
        self.epoch += 1
        for log in self.directory.logs.values():
            log.epochs.assign(self.epoch, log.end_offset)

    def roll(self) -> None:
        self._log(self._any()).roll(self.now)

    # Keeping -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """The worker syncs while the loop goes on appending."""
        history = self._any()
        log = self._log(history)
        planned = log.begin_flush()
        if planned is None:
            return
        if self.rng.random() < 0.5:
            self._append(history, -1)
        planned.run()
        if self.rng.random() < 0.5:
            self._append(history, -1)
        log.end_flush(planned)
        history.synced = max(history.synced, log.recovery_point)

    def checkpoint(self) -> None:
        for history in self.histories.values():
            self._flush(history)
        self._write_recovery_points()
        high_watermarks = {name: log.end_offset for name, log in self.directory.logs.items()}
        checkpoint = self.directory.new_high_watermarks(high_watermarks)
        if checkpoint is not None:
            checkpoint.write()

    def _flush(self, history: History) -> None:
        log = self._log(history)
        planned = log.begin_flush()
        if planned is not None:
            planned.run()
            log.end_flush(planned)
        history.synced = max(history.synced, log.recovery_point)

    def _write_recovery_points(self) -> None:
        checkpoint = self.directory.new_recovery_points()
        if checkpoint is not None:
            checkpoint.write()

    def checkpoint_log_starts(self) -> None:
        checkpoint = self.directory.new_log_starts()
        if checkpoint is not None:
            checkpoint.write()
        for history in self.histories.values():
            history.synced_start = max(history.synced_start, self._log(history).start_offset)

    # Shrinking ---------------------------------------------------------------------------------

    def retain(self) -> None:
        for history in self.histories.values():
            log = self._log(history)
            # What it may drop, a client may not count on from here on.
            history.start = log.end_offset
            log.retain(self.now, up_to=log.end_offset)
            history.start = log.start_offset

    def remove_deleted(self) -> None:
        for log in self.directory.logs.values():
            log.remove_deleted(self.now)
        for at, path in self._retired:
            if at <= self.now:
                self.disk.rmtree(path)
        self._retired = [each for each in self._retired if each[0] > self.now]

    def delete_records(self) -> None:
        history = self.histories[ORDERS]
        log = self._log(history)
        history.start = self.rng.randrange(log.start_offset, log.end_offset + 1)
        log.advance_start(history.start)

    def truncate(self) -> None:
        """As a follower does. The new checkpoints are written before anything is appended."""
        history = self.histories[ORDERS]
        log = self._log(history)
        offset = self.rng.randrange(log.start_offset, log.end_offset + 1)
        # A batch is cut as a whole, so the end may come to lie before the offset.
        batch = next((each for each in history.batches if each.last >= offset), None)
        offset = min(offset, batch.base) if batch else offset
        history.synced = min(history.synced, offset)
        history.synced_start = min(history.synced_start, offset)
        history.cut_at = offset
        log.truncate_to(offset, self.now)
        self._write_recovery_points()
        self.checkpoint_log_starts()
        history.start = log.start_offset
        self._forget_after(history, log.end_offset)
        history.cut_at = UNCUT

    def compact(self) -> None:
        history = self.histories[USERS]
        log = self._log(history)
        self._flush(history)
        self._write_recovery_points()
        dirt = selection.measure(
            log.segments(),
            history.settings,
            checkpoint=self.directory.cleaner_offsets.get(USERS),
            start_offset=log.start_offset,
            end_offset=log.end_offset,
            last_stable_offset=log.end_offset,
            now=self.now,
        )
        asked = Round(self.disk, log, history.settings, dirt, now=self.now, map_bytes=1 << 16)
        cleaning = Cleaning(self.disk, asked.job, lambda _: None)
        cleaning.build_map()
        for group in cleaning.groups():
            copied = cleaning.copy(group)
            if copied is not None:
                assert asked.swap_in(copied)
        self.disk.fsync_dir(log.directory)
        checkpoint = self.directory.new_cleaner_offset(USERS, cleaning.end_offset)
        if checkpoint is not None:
            checkpoint.write()

    # Stopping ----------------------------------------------------------------------------------

    def stop_and_start(self) -> None:
        high_watermarks = {name: log.end_offset for name, log in self.directory.logs.items()}
        self.directory.close(high_watermarks, now=self.now, broker_epoch=1, run=_run_all)
        self._start()
        assert all(log.end_offset == log.recovery_point for log in self.directory.logs.values())

    def be_killed(self) -> None:
        """The process dies, the machine lives: nothing is lost, though little was synced."""
        ends = {name: log.end_offset for name, log in self.directory.logs.items()}
        self._start()
        assert ends == {name: log.end_offset for name, log in self.directory.logs.items()}

    def lose_power(self) -> None:
        for history in self.histories.values():
            history.cut_at = history.synced
        self.disk.crash(self.rng)
        self._start()

    def _start(self) -> None:
        self.directory = LogDirectory(self.disk, PATH, DIRECTORY_ID)
        self.directory.remove_deleted()
        self._retired.clear()
        for history in self.histories.values():
            log = self._open(history)
            assert log.end_offset >= history.synced
            self._forget_holes(history, log)
            self._forget_after(history, log.end_offset)
            history.start, history.synced = log.start_offset, log.recovery_point
            history.cut_at = UNCUT
        self.lead_anew()

    def _forget_holes(self, history: History, log: Log) -> None:
        if log.start_offset == log.end_offset > 0 and not log.producers:
            # A client had deleted more than what is left: the log began anew, and knows nobody.
            history.batches = []
        # If it was compacted, or nothing says that it was not, a power failure may leave batches behind others it took.
        found = {batch.base for batch in read_all(log)}
        history.batches = [
            batch
            for batch in history.batches
            if batch.base in found or batch.last < max(history.synced, log.start_offset)
        ]

    def _forget_after(self, history: History, end: int) -> None:
        history.batches = [batch for batch in history.batches if batch.last < end]
        for producer in (*IDEMPOTENT, *TRANSACTIONAL):
            known = producers_after(history.batches).get(producer)
            following = known.batches[-1][1] + 1 if known and known.batches else 0
            self._sequences[history.name, producer] = following


def _run_all(flushes: Sequence[Flush]) -> None:
    for flush in flushes:
        flush.run()


def _actions(scenario: LogScenario) -> dict[Callable[[], None], int]:
    return {
        scenario.append: 60,
        scenario.end_transaction: 6,
        scenario.retry: 6,
        scenario.lead_anew: 2,
        scenario.roll: 4,
        scenario.flush: 10,
        scenario.checkpoint: 3,
        scenario.checkpoint_log_starts: 3,
        scenario.retain: 3,
        scenario.remove_deleted: 3,
        scenario.delete_records: 3,
        scenario.truncate: 1,
        scenario.compact: 2,
        scenario.reconfigure: 2,
        scenario.create_another: 1,
        scenario.delete_one: 1,
        scenario.stop_and_start: 2,
        scenario.be_killed: 2,
        scenario.lose_power: 2,
    }
