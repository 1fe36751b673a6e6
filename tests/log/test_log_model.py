"""A log on a disk that crashes, against a list. Whatever happens, the log is what the list says."""

from random import Random

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.samples import NOW, a_batch, append, flush, headers_of
from log.samples import settings as topic_settings

DIRECTORY = "/data/orders-0"
# Small, so that a few appends roll, and every batch has an index entry.
SETTINGS = topic_settings(
    segment_bytes=400, index_interval_bytes=0, retention_bytes=600, file_delete_delay_ms=0
)
PRODUCER = 7


class LogAgainstList(RuleBasedStateMachine):
    """`batches` is what was appended and not lost: (base offset, last offset, first sequence or -1).

    What retention and DeleteRecords took away stays in the list, since its producer is still known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk()
        self.batches: list[tuple[int, int, int]] = []
        self.start = 0
        # What the shell has written down: the recovery point, and with it a promise.
        self.recovery_point = 0
        self.log = self.open(clean=False)

    def open(self, *, clean: bool) -> Log:
        return Log.open(
            self.disk,
            DIRECTORY,
            SETTINGS,
            now=NOW,
            clean=clean,
            recovery_point=self.recovery_point,
            log_start_offset=self.start,
        )

    def next_sequence(self) -> int:
        sequences = [(first, last, seq) for first, last, seq in self.batches if seq >= 0]
        if not sequences:
            return 0
        first, last, sequence = sequences[-1]
        return sequence + last - first + 1

    @initialize()
    def begin_with_something_flushed(self) -> None:
        """A recovery point of zero says nothing, so that holes could not be told from compaction."""
        self.append(1)
        self.flush()

    @rule(count=st.integers(1, 3))
    def append(self, count: int) -> None:
        appended = append(self.log, a_batch(*[b"x" * 20] * count))
        assert appended.base_offset == self.log.end_offset - count
        self.batches.append((appended.base_offset, appended.last_offset, -1))

    @rule(count=st.integers(1, 3))
    def append_in_sequence(self, count: int) -> None:
        sequence = self.next_sequence()
        batch = a_batch(*[b"y" * 20] * count, producer=(PRODUCER, 0, sequence))
        appended = append(self.log, batch)
        assert not appended.duplicate
        self.batches.append((appended.base_offset, appended.last_offset, sequence))

    @precondition(lambda self: any(batch[2] >= 0 for batch in self.batches))
    @rule()
    def retry_the_last_in_sequence(self) -> None:
        first, last, sequence = [batch for batch in self.batches if batch[2] >= 0][-1]
        batch = a_batch(*[b"y" * 20] * (last - first + 1), producer=(PRODUCER, 0, sequence))
        appended = append(self.log, batch)
        assert (appended.base_offset, appended.last_offset, appended.duplicate) == (
            first,
            last,
            True,
        )

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule()
    def flush(self) -> None:
        flush(self.log)
        assert self.log.recovery_point == self.log.end_offset
        self.recovery_point = self.log.recovery_point

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(max(self.start, 1), max(self.log.end_offset, 1)))
        self.log.truncate_to(offset)
        self.batches = [batch for batch in self.batches if batch[1] < offset]
        self.recovery_point = min(self.recovery_point, self.log.recovery_point)
        assert self.log.end_offset == self.batches[-1][1] + 1 if self.batches else offset
        self.start = min(self.start, self.log.end_offset)

    @rule()
    def retain(self) -> None:
        if self.log.needs_flush(NOW):
            self.flush()
        self.log.retain(NOW, up_to=self.log.end_offset)
        self.log.remove_deleted(NOW)
        self.start = self.log.start_offset

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        # Only what was flushed: the start offset is written down elsewhere and would survive records it hides.
        offset = data.draw(st.integers(self.start, max(self.recovery_point, self.start)))
        self.log.advance_start(offset)
        self.start = self.log.start_offset

    @rule()
    def stop_and_start(self) -> None:
        self.log.close(NOW)
        self.recovery_point = self.log.recovery_point
        self.log = self.open(clean=True)

    @rule(seed=st.integers(0, 2**32))
    def crash(self, seed: int) -> None:
        self.disk.crash(Random(seed))
        self.log = self.open(clean=False)
        note(f"after the crash the log ends at {self.log.end_offset}")
        assert self.log.end_offset >= self.recovery_point, "what was flushed is gone"
        self.batches = [batch for batch in self.batches if batch[1] < self.log.end_offset]

    @rule(data=st.data(), max_bytes=st.integers(0, 600), min_one=st.booleans())
    def read(self, data: st.DataObject, max_bytes: int, min_one: bool) -> None:
        offset = data.draw(st.integers(self.start, self.log.end_offset))
        part = self.log.read(offset, max_bytes, up_to=self.log.end_offset, min_one=min_one)
        expected = next((batch for batch in self.batches if batch[1] >= offset), None)
        if part is not None:
            assert expected is not None
            assert int.from_bytes(part.read()[:8], "big") == expected[0]
            assert part.size <= max_bytes or min_one
        else:
            assert expected is None or not min_one

    @invariant()
    def log_says_what_the_list_says(self) -> None:
        found = [(header.base_offset, header.last_offset) for header in headers_of(self.log)]
        assert found == [(first, last) for first, last, _ in self.batches if last >= self.start]
        assert self.log.start_offset == self.start


LogAgainstList.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLogAgainstList = LogAgainstList.TestCase
