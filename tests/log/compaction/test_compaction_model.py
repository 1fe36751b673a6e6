"""A log that is compacted, restarted and crashed, against plain lists that say what must be in it."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from klamm.log.log import Log
from klamm.log.state.replay import read_marker
from klamm.protocol.records.batch import BatchHeader, Codec, batches
from klamm.protocol.records.reader import Record, read_records
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import Pair, clean, compacted, keyed, measure
from log.samples import DIRECTORY, NOW, append, end_transaction, flush

RETENTION = 1000
SETTINGS = compacted(segment_bytes=500, delete_retention_ms=RETENTION)
IDEMPOTENT, TRANSACTIONAL = (7, 8), (20, 21)
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
PAIRS = st.lists(st.tuples(KEYS, st.none() | st.binary(min_size=5, max_size=30)), max_size=4)
SOME_PAIRS = PAIRS.filter(bool)


class Interrupted(Exception):
    """The machine stopped here."""


class StoppingDisk(MemoryDisk):
    """Counts what is done to names and stops at a chosen moment."""

    def __init__(self) -> None:
        super().__init__()
        self.steps_left: int | None = None

    def _step(self) -> None:
        if self.steps_left is not None:
            if not self.steps_left:
                raise Interrupted
            self.steps_left -= 1

    def rename(self, old: str, new: str) -> None:
        self._step()
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self._step()
        super().remove(path)

    def fsync_dir(self, path: str) -> None:
        self._step()
        super().fsync_dir(path)


class Batch(NamedTuple):
    header: BatchHeader
    records: list[Record]
    is_abort: bool


@dataclass
class Written:
    """One batch as it was appended; nothing takes that back but a crash before it was synced."""

    first: int
    last: int
    pairs: list[Pair]
    producer: int = -1
    sequence: int = -1
    # None for data; for a marker, whether it aborts.
    aborts: bool | None = None
    # When a round first left its tombstones in place.
    kept_at: int | None = None


class CompactionAgainstLists(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = StoppingDisk()
        self.now = NOW
        self.history: list[Written] = []
        # What the shell has written down.
        self.recovery_point = 0
        self.checkpoint: int | None = None
        self.log = self.open(clean=False)

    def open(self, *, clean: bool) -> Log:
        return Log.open(
            self.disk,
            DIRECTORY,
            SETTINGS,
            now=self.now,
            clean=clean,
            recovery_point=self.recovery_point,
        )

    # Appending ---------------------------------------------------------------------------------

    @initialize()
    def begin_with_something_flushed(self) -> None:
        self.write_plainly([(b"a", b"first")], Codec.NONE)
        self.flush()

    @rule(pairs=SOME_PAIRS, codec=st.sampled_from([Codec.NONE, Codec.GZIP]))
    def write_plainly(self, pairs: list[Pair], codec: Codec) -> None:
        appended = append(self.log, keyed(*pairs, at=self.now, codec=codec), now=self.now)
        self.history.append(Written(appended.base_offset, appended.last_offset, pairs))

    @rule(pairs=SOME_PAIRS, producer=st.sampled_from(IDEMPOTENT))
    def write_in_sequence(self, pairs: list[Pair], producer: int) -> None:
        self._write_as(producer, pairs, transactional=False)

    @rule(pairs=SOME_PAIRS, producer=st.sampled_from(TRANSACTIONAL))
    def write_in_transaction(self, pairs: list[Pair], producer: int) -> None:
        self._write_as(producer, pairs, transactional=True)

    def _write_as(self, producer: int, pairs: list[Pair], *, transactional: bool) -> None:
        sequence = self._next_sequence(producer)
        batch = keyed(
            *pairs, at=self.now, producer=(producer, 0, sequence), transactional=transactional
        )
        appended = append(self.log, batch, now=self.now)
        assert not appended.duplicate
        self.history.append(
            Written(appended.base_offset, appended.last_offset, pairs, producer, sequence)
        )

    def _next_sequence(self, producer: int) -> int:
        own = [w for w in self.history if w.producer == producer and w.aborts is None]
        return own[-1].sequence + len(own[-1].pairs) if own else 0

    @rule(producer=st.sampled_from(TRANSACTIONAL), abort=st.booleans())
    def end_a_transaction(self, producer: int, abort: bool) -> None:
        offset = end_transaction(self.log, producer, abort=abort).base_offset
        self.history.append(Written(offset, offset, [], producer, aborts=abort))

    @rule(pairs=SOME_PAIRS, producer=st.sampled_from(TRANSACTIONAL), abort=st.booleans())
    def write_a_whole_transaction(self, pairs: list[Pair], producer: int, abort: bool) -> None:
        self._write_as(producer, pairs, transactional=True)
        self.end_a_transaction(producer, abort)

    @rule(producer=st.sampled_from(IDEMPOTENT + TRANSACTIONAL))
    def retry_the_last_batch(self, producer: int) -> None:
        own = [w for w in self.history if w.producer == producer and w.aborts is None]
        if own:
            last = own[-1]
            batch = keyed(*last.pairs, producer=(producer, 0, last.sequence), transactional=False)
            appended = append(self.log, batch, now=self.now)
            assert (appended.base_offset, appended.last_offset, appended.duplicate) == (
                last.first,
                last.last,
                True,
            )

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now)

    @rule(by=st.sampled_from([1, RETENTION // 2, RETENTION]))
    def let_time_pass(self, by: int) -> None:
        self.now += by

    @rule()
    def flush(self) -> None:
        flush(self.log)
        self.recovery_point = self.log.recovery_point

    # Cleaning ----------------------------------------------------------------------------------

    @rule(map_bytes=st.sampled_from([1 << 12, 1 << 12, 24 * 4]), abort=st.none() | st.booleans())
    def compact(self, map_bytes: int, abort: bool | None) -> None:
        self._seal_everything(abort)
        before, bases = self.batches(), [s.base_offset for s in self.log.segments()]
        bound = measure(self.log, SETTINGS, self.checkpoint, self.now).end_offset
        start = self.checkpoint or 0

        end = clean(
            self.disk, self.log, SETTINGS, self.checkpoint, now=self.now, map_bytes=map_bytes
        )

        assert start <= end <= max(bound, start)
        present = flat(self.batches())
        assert set(present) <= set(flat(self.expected(before, bases, start, end)))
        # Where the map was full, some keys of the batch behind the end are known too.
        full = min(
            (b.header.last_offset + 1 for b in before if b.header.last_offset >= end), default=end
        )
        known_end = end if end == bound else full
        least = flat(self.expected(before, bases, start, end, known_end))
        assert [record for record in present if record in set(least)] == least
        self.checkpoint = end
        self._note_kept()

    def _seal_everything(self, abort: bool | None) -> None:
        """abort: how open transactions end, None if they stay open and keep the rest from being compacted."""
        if abort is not None:
            for producer in TRANSACTIONAL:
                self.end_a_transaction(producer, abort)
        self.log.roll(self.now)
        self.flush()

    @rule(steps=st.integers(0, 40), seed=st.integers(0, 2**32), abort=st.none() | st.booleans())
    def be_interrupted_while_compacting(self, steps: int, seed: int, abort: bool | None) -> None:
        self._seal_everything(abort)
        before, bases = self.batches(), [s.base_offset for s in self.log.segments()]
        start = self.checkpoint or 0
        bound = measure(self.log, SETTINGS, self.checkpoint, self.now).end_offset
        self.disk.steps_left = steps
        try:
            clean(self.disk, self.log, SETTINGS, self.checkpoint, now=self.now)
        except Interrupted:
            note(f"interrupted after {steps} steps")
        self.disk.steps_left = None
        self.crash(seed)

        present = flat(self.batches())
        least = flat(self.expected(before, bases, start, max(bound, start)))
        assert [record for record in present if record in set(least)] == least
        assert set(present) <= set(flat(before))
        self._note_kept()

    def expected(
        self, before: list[Batch], bases: list[int], start: int, end: int, known_end: int = 0
    ) -> list[Batch]:
        """What Kafka's rules leave, worked out with lists. The keys of what lies from start to end are known."""
        if start == end:
            return before
        known_end = max(known_end, end)
        outcomes = self.outcomes()
        copied_end = next((base for base in bases if base >= end), end)
        last: dict[bytes | None, int] = {}
        for batch in before:
            if outcomes.get(batch.header.base_offset) is not True:
                last |= {r.key: r.offset for r in batch.records if start <= r.offset < known_end}
        kept = []
        for batch in before:
            horizon = batch.header.delete_horizon
            records = [
                r
                for r in batch.records
                if r.offset >= end
                or (
                    r.offset >= last.get(r.key, -1)
                    and (r.value is not None or horizon is None or self.now < horizon)
                )
            ]
            base = batch.header.base_offset
            if base < copied_end and outcomes.get(base) is True:
                records = []
            kept.append(batch._replace(records=records))
        return kept

    def _note_kept(self) -> None:
        headers = [batch.header for batch in self.batches()]
        marked = {header.base_offset for header in headers if header.delete_horizon is not None}
        for written in self.history:
            if written.kept_at is None and written.first in marked:
                written.kept_at = self.now

    # Stopping ----------------------------------------------------------------------------------

    @rule()
    def stop_and_start(self) -> None:
        self.log.close(self.now)
        self.recovery_point = self.log.recovery_point
        self.log = self.open(clean=True)

    @rule(seed=st.integers(0, 2**32))
    def crash(self, seed: int) -> None:
        self.disk.crash(Random(seed))
        self.log = self.open(clean=False)
        assert self.log.end_offset >= self.recovery_point
        # What was not flushed may be lost, and in a compacted log nothing tells such a gap from the other kind.
        survivors = {batch.header.base_offset for batch in self.batches()}
        self.history = [
            w for w in self.history if w.last < self.recovery_point or w.first in survivors
        ]

    # What holds at any time --------------------------------------------------------------------

    @invariant()
    def nothing_is_invented_or_moved(self) -> None:
        written = {
            written.first + number: pair
            for written in self.history
            for number, pair in enumerate(written.pairs)
        }
        present = [r for batch in self.batches() for r in batch.records]
        assert [r.offset for r in present] == sorted({r.offset for r in present})
        assert all(written[r.offset] == (r.key, r.value) for r in present)

    @invariant()
    def the_last_value_of_each_key_is_there(self) -> None:
        outcomes = self.outcomes()
        newest = {
            record.key: record.offset
            for batch in self.batches()
            for record in batch.records
            if outcomes.get(batch.header.base_offset) is not True
        }
        last: dict[bytes | None, tuple[int, bytes | None, Written]] = {}
        for written in self.history:
            if outcomes.get(written.first) is not True:
                for number, (key, value) in enumerate(written.pairs):
                    last[key] = (written.first + number, value, written)
        for key, (offset, value, written) in last.items():
            may_be_gone = (
                value is None
                and written.kept_at is not None
                and written.kept_at + RETENTION <= self.now
            )
            # Where a tombstone is gone, so is all that it covered: nothing comes back to life.
            assert newest.get(key) == offset or (may_be_gone and key not in newest)

    @invariant()
    def committed_readers_see_what_was_committed(self) -> None:
        outcomes = self.outcomes()
        end = self.log.first_unstable_offset
        end = self.log.end_offset if end is None else end
        written_at = {at: w for w in self.history for at in range(w.first, w.last + 1)}
        found = self.batches()
        for start in {0, self.checkpoint or 0, end // 2}:
            expected = [
                record.offset
                for batch in found
                for record in batch.records
                if start <= record.offset < end
                and outcomes.get(written_at[record.offset].first) is not True
            ]
            assert self.committed(start, end) == expected

    def outcomes(self) -> dict[int, bool | None]:
        """First offset of each transactional batch -> was it aborted; None while that is open."""
        found: dict[int, bool | None] = {}
        waiting: dict[int, list[int]] = {}
        for written in self.history:
            if written.producer not in TRANSACTIONAL:
                continue
            if written.aborts is None:
                waiting.setdefault(written.producer, []).append(written.first)
                found[written.first] = None
            else:
                found |= dict.fromkeys(waiting.pop(written.producer, []), written.aborts)
        return found

    def batches(self, start: int = 0) -> list[Batch]:
        found: list[Batch] = []
        offset = start
        while part := self.log.read(offset, 1 << 20, up_to=self.log.end_offset):
            for header, batch in batches(part.read(), partial_end=True):
                marker = read_marker(batch) if header.is_control and header.count else None
                records = [] if header.is_control else list(read_records(batch))
                found.append(Batch(header, records, marker is not None and marker.is_abort))
                offset = header.last_offset + 1
        return found

    def committed(self, start: int, end: int) -> list[int]:
        """As a Java consumer works it out from the answer to a fetch."""
        ahead = sorted(self.log.aborted_transactions(start, end), key=lambda each: each[1])
        dropping: set[int] = set()
        seen: list[int] = []
        for header, records, is_abort in self.batches(start):
            if header.base_offset >= end:
                break
            while ahead and ahead[0][1] <= header.last_offset:
                dropping.add(ahead.pop(0)[0])
            if is_abort:
                dropping.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in dropping):
                seen += [r.offset for r in records if r.offset >= start]
        return seen


def flat(found: list[Batch]) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for batch in found for r in batch.records]


CompactionAgainstLists.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestCompaction = CompactionAgainstLists.TestCase
