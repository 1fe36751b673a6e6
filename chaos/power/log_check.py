"""What must be true of a data directory after a crash, whatever the crash took."""

from dataclasses import dataclass
from random import Random

from chaos.power.log_scenario import DIRECTORY_ID, EXPIRY_MS, NOW, PATH, Promises
from chaos.power.model import (
    History,
    Producer,
    Written,
    aborted_in,
    first_at_or_after,
    producers_after,
    read_all,
)
from chaos.power.moments import Crash, PowerOff, stop_after
from klamm.log.checkpoints import LOG_STARTS, RECOVERY_POINTS, read_offsets
from klamm.log.log import Log
from klamm.protocol.records.batch import HEADER_SIZE, MAGIC, check_crc, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.storage.log_directories import LogDirectory
from klamm.testing.disk import Loss, MemoryDisk

_LATER = NOW + 10**9
_MOST_STEPS_OF_A_START = 60
_NEW_PRODUCER = 99


def check_recovery(crash: Crash[Promises]) -> None:
    """AssertionError if a promise is broken. Every fourth start loses power itself before it gets through."""
    disk, rng = crash.disk, crash.rng
    if rng.random() < 0.25:
        _start_and_lose_power(crash)
    found = {name: _look(disk, history) for name, history in crash.promise.items()}
    directory = _start(disk, crash.promise)
    for name, history in crash.promise.items():
        log = directory.logs[name]
        _check_bounds(log, history, crash.loss)
        if history.is_compacted:
            _check_compacted(log, history)
        else:
            _check_content(log, history, found[name])
        _check_lookups(log, rng)
        _check_epochs(log)
    _check_life_goes_on(disk, directory, crash.promise)


def _start(disk: MemoryDisk, promises: Promises) -> LogDirectory:
    directory = LogDirectory(disk, PATH, DIRECTORY_ID)
    directory.remove_deleted()
    for history in promises.values():
        directory.open(
            history.name,
            history.settings,
            topic_id=history.topic_id,
            now=_LATER,
            producer_expiry_ms=EXPIRY_MS * 365,
        )
    return directory


def _start_and_lose_power(crash: Crash[Promises]) -> None:
    stop_after(crash.disk, crash.rng.randrange(_MOST_STEPS_OF_A_START))
    try:
        _start(crash.disk, crash.promise)
    except PowerOff:
        crash.disk.crash(crash.rng, crash.loss)
    crash.disk.before_step = None


# What a naive reader finds ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """The batches of one partition's files up to the first that is not whole, and what the checkpoints say of it.

    Where one segment lost its tail and the next is there, what follows goes, too; but only if there is a recovery point,
    or the log is younger than those that were written down: else it may come from a Kafka that compacted it.
    """

    batches: list[Written]
    has_hole: bool
    end: int
    log_start: int


def _look(disk: MemoryDisk, history: History) -> Found:
    directory = f"{PATH}/{history.name}"
    points = f"{PATH}/{RECOVERY_POINTS}"
    recovery_point = read_offsets(disk, points).get(history.name, 0)
    is_young = disk.exists(points) and history.name not in read_offsets(disk, points)
    log_start = read_offsets(disk, f"{PATH}/{LOG_STARTS}").get(history.name, 0)
    names = (
        [n for n in disk.listdir(directory) if n.endswith(".log")] if disk.exists(directory) else []
    )
    found: list[Written] = []
    end = int(names[0][:20]) if names else 0
    has_hole = False
    for name in sorted(names):
        base = int(name[:20])
        if base > end:
            if base > recovery_point and (recovery_point > 0 or is_young):
                break
            has_hole = True
        data = disk.read(f"{directory}/{name}")
        good = _good_batches(data, base)
        found += good
        end = good[-1].last + 1 if good else base
        if sum(len(batch.data) for batch in good) < len(data):
            break
    return Found(found, has_hole, end, log_start)


def _good_batches(data: bytes, base: int) -> list[Written]:
    good: list[Written] = []
    at, end = 0, base
    while at + HEADER_SIZE <= len(data):
        header = read_header(data, at)
        batch = data[at : at + header.size]
        if header.magic != MAGIC or header.base_offset < end or not check_crc(batch):
            break
        good.append(Written(header, batch))
        at, end = at + header.size, header.last_offset + 1
    return good


# What the log says ------------------------------------------------------------------------------


def _check_bounds(log: Log, history: History, loss: Loss) -> None:
    assert log.end_offset >= history.synced, "what was synced is gone"
    assert history.synced_start <= log.start_offset <= history.start, "the start moved"
    if loss is Loss.NOTHING:
        safe = [batch.last + 1 for batch in history.batches if batch.last < history.cut_at]
        assert log.end_offset >= max(safe, default=0), "a killed process lost something"


def _check_content(log: Log, history: History, found: Found) -> None:
    if found.log_start > found.end or (found.log_start and not found.batches):
        # Everything that is left had been deleted by a client.
        assert (log.start_offset, log.end_offset) == (found.log_start, found.log_start)
        return
    assert log.end_offset == found.end, "something valid was cut, or something else kept"
    expected = found.batches if found.has_hole else history.before(log.end_offset)
    assert read_all(log) == [batch for batch in expected if batch.last >= log.start_offset]
    _check_producers(log, expected)
    aborted = list(aborted_in(expected))
    for start in {log.start_offset, (log.start_offset + log.end_offset) // 2}:
        assert log.aborted_transactions(start, log.end_offset) == [
            (each.producer_id, each.first) for each in aborted if each.marker >= start
        ]


def _check_compacted(log: Log, history: History) -> None:
    """Some records are gone, none moved, and the last of each key is there."""
    written = {r.offset: r for batch in history.before(log.end_offset) for r in batch.records()}
    present = [record for batch in read_all(log) for record in batch.records()]
    assert [record.offset for record in present] == sorted({record.offset for record in present})
    assert all(written[record.offset] == record for record in present)
    # Where compaction works a hole says nothing, so only what was synced is sure to have no new ones.
    last = {record.key: record.offset for record in written.values()}
    assert {offset for offset in last.values() if offset < history.synced} <= {
        record.offset for record in present
    }
    known = _producers_of(log)
    for producer, state in producers_after(history.before(log.end_offset)).items():
        if state.batches[-1][3] < history.synced:
            assert known[producer].batches[-1] == state.batches[-1]


def _check_producers(log: Log, batches: list[Written]) -> None:
    expected, actual = producers_after(batches), _producers_of(log)
    assert actual.keys() == expected.keys()
    for producer, state in expected.items():
        assert state.is_known_as(actual[producer]), f"producer {producer} is {actual[producer]}"


def _producers_of(log: Log) -> dict[int, Producer]:
    return {
        state.producer_id: Producer(
            state.epoch,
            tuple(
                (each.first_sequence, each.last_sequence, each.first_offset, each.last_offset)
                for each in state.batches
            ),
            state.txn_first_offset,
        )
        for state in log.producers
    }


def _check_lookups(log: Log, rng: Random) -> None:
    """Indexes lead where a walk over the whole log leads."""
    content = read_all(log)
    for batch in rng.sample(content, min(len(content), 12)):
        offset = rng.randrange(max(batch.base, log.start_offset), batch.last + 1)
        part = log.read(offset, 1, up_to=log.end_offset)
        assert part is not None
        assert read_header(part.read()) == batch.header, f"offset {offset} is looked up wrongly"
        record = log.offset_for_timestamp(batch.header.max_timestamp)
        expected = first_at_or_after(content, batch.header.max_timestamp, log.start_offset)
        assert (record and (record.timestamp, record.offset)) == expected


def _check_epochs(log: Log) -> None:
    for batch in read_all(log):
        offset = max(batch.base, log.start_offset)
        assert log.epochs.epoch_of(offset) == batch.header.leader_epoch


def _check_life_goes_on(disk: MemoryDisk, directory: LogDirectory, promises: Promises) -> None:
    """What is appended and synced from here on survives the next power failure, and so does all that was found."""
    before = {}
    for name, log in directory.logs.items():
        batch = build_batch(
            [Record(timestamp=_LATER, key=b"new", value=b"new")],
            producer_id=_NEW_PRODUCER,
            producer_epoch=0,
            base_sequence=0,
        )
        log.append(batch, leader_epoch=1 << 20, now=_LATER)
        flush = log.begin_flush()
        assert flush is not None
        flush.run()
        log.end_flush(flush)
        before[name] = read_all(log)
    disk.crash(Random(0), Loss.ALL)
    again = _start(disk, promises)
    for name, log in again.logs.items():
        assert read_all(log) == before[name], "lost by a second crash"
        assert log.producers.get(_NEW_PRODUCER) is not None
