"""Bugs that the power failures of this folder have found, each by itself and in few lines."""

from contextlib import suppress
from random import Random
from struct import pack

import pytest
from chaos.power.model import read_all
from chaos.power.moments import PowerOff, stop_after

from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.checkpoints import LOG_STARTS, read_offsets
from klamm.log.log import Log
from klamm.log.results import Origin
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.storage import Paths, ensure_formatted, load
from klamm.storage.log_directories import LogDirectory
from klamm.testing.disk import Loss, MemoryDisk

PATH = "/data"
NOW = 1_750_000_000_000
ORDERS = TopicPartition("orders", 0)
DIRECTORY = f"{PATH}/{ORDERS}"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.mkdir(PATH)
    return disk


def a_directory(disk: MemoryDisk) -> LogDirectory:
    return LogDirectory(disk, PATH, Uuid(bytes(16)))


def open_log(directory: LogDirectory, topic: int = 1, **settings: int) -> Log:
    return directory.open(
        ORDERS,
        TopicSettings(**settings),
        topic_id=Uuid(bytes([topic]) * 16),
        now=NOW,
        producer_expiry_ms=86_400_000,
    )


def append(log: Log, count: int = 1, *, at: int = NOW, size: int = 500, epoch: int = 0) -> None:
    for _ in range(count):
        batch = build_batch([Record(timestamp=at, value=b"v" * size)])
        log.append(batch, leader_epoch=epoch, now=NOW)


def flush(log: Log) -> None:
    planned = log.begin_flush()
    assert planned is not None
    planned.run()
    log.end_flush(planned)


def write(checkpoint: object) -> None:
    if checkpoint is not None:
        checkpoint.write()  # type: ignore[attr-defined]


def test_the_directory_of_a_new_log_survives_with_its_first_flush(disk: MemoryDisk):
    log = open_log(a_directory(disk))
    append(log)
    flush(log)

    disk.crash(Random(0), Loss.ALL)

    assert open_log(a_directory(disk)).end_offset == 1


def test_an_aborted_transaction_is_known_after_a_crash_if_its_marker_was_synced(disk: MemoryDisk):
    """The index of aborted transactions is a new file: its name must be synced, too."""
    directory = a_directory(disk)
    log = open_log(directory)
    append(log)
    flush(log)
    data = build_batch(
        [Record(timestamp=NOW)],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    log.append(data, leader_epoch=0, now=NOW)
    abort = Record(timestamp=NOW, key=pack(">hh", 0, 0), value=pack(">hi", 0, 0))
    marker = build_batch([abort], producer_id=7, producer_epoch=0, transactional=True, control=True)
    log.append(marker, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)
    flush(log)
    log.roll(NOW)
    append(log)
    flush(log)
    write(directory.new_recovery_points())

    disk.crash(Random(0), Loss.ALL)

    assert open_log(a_directory(disk)).aborted_transactions(0, 9) == [(7, 1)]


def test_deleted_records_do_not_come_back_once_the_start_was_written_down(disk: MemoryDisk):
    """The names of the segments that went are not synced yet: so the start stays in the checkpoint until they are."""
    directory = a_directory(disk)
    log = open_log(directory)
    append(log, 2)
    log.roll(NOW)
    append(log)
    flush(log)
    log.advance_start(2)
    log.retain(NOW, up_to=3)
    write(directory.new_log_starts())

    disk.crash(Random(0), Loss.ALL)

    assert open_log(a_directory(disk)).start_offset == 2


def test_a_start_is_left_out_of_the_checkpoint_when_the_file_name_says_it(disk: MemoryDisk):
    directory = a_directory(disk)
    log = open_log(directory)
    append(log, 2)
    log.roll(NOW)
    log.advance_start(2)
    flush(log)
    log.retain(NOW, up_to=3)
    flush(log)

    write(directory.new_log_starts())

    assert read_offsets(disk, f"{PATH}/{LOG_STARTS}") == {}


def test_a_topic_made_anew_is_not_hurt_by_what_was_written_down_of_its_namesake(disk: MemoryDisk):
    directory = a_directory(disk)
    old = open_log(directory)
    append(old, 20)
    flush(old)
    old.advance_start(15)
    write(directory.new_recovery_points())
    write(directory.new_log_starts())
    old.delete()
    directory.forget(ORDERS)

    new = open_log(directory, topic=2)
    for checkpoint in directory.outdated_checkpoints():
        checkpoint.write()
    append(new, 3)
    flush(new)
    disk.crash(Random(0), Loss.ALL)

    again = open_log(a_directory(disk), topic=2)
    assert (again.start_offset, again.end_offset) == (0, 3)


def test_the_first_flush_of_a_log_makes_sure_whose_it_is(disk: MemoryDisk):
    log = open_log(a_directory(disk), topic=1)
    append(log)
    flush(log)

    disk.crash(Random(0), Loss.ALL)

    assert b"topic_id: " in disk.read(f"{DIRECTORY}/partition.metadata")


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
@pytest.mark.parametrize("seed", range(10))
def test_an_index_that_a_crash_has_torn_is_noticed(disk: MemoryDisk, kind: str, seed: int):
    """Also where recovery does not look: in segments below the recovery point."""
    rng = Random(seed)
    log = open_log(a_directory(disk), index_interval_bytes=100, segment_bytes=20_000)
    for number in range(60):
        append(log, at=NOW + number)
    log.close(NOW)
    names = [name for name in disk.listdir(DIRECTORY) if name.endswith(kind)]
    for name in names[:-1]:
        file = disk.open(f"{DIRECTORY}/{name}")
        start = rng.randrange(file.size())
        file.pwrite(rng.choice((bytes(40), rng.randbytes(40))), start)

    again = Log.open(disk, DIRECTORY, TopicSettings(), now=NOW, clean=True)

    assert len(names) > 1
    for offset in range(60):
        part = again.read(offset, 1, up_to=60)
        assert part is not None
        assert int.from_bytes(part.read()[:8], "big") == offset
        found = again.offset_for_timestamp(NOW + offset)
        assert found is not None
        assert (found.offset, found.timestamp) == (offset, NOW + offset)
    newest = again.max_timestamp()
    assert newest is not None
    assert newest.offset == 59


def test_leader_epochs_reach_back_as_far_as_the_log_does(disk: MemoryDisk):
    """Their file was written when records had been deleted; that they were is not known after the crash."""
    directory = a_directory(disk)
    log = open_log(directory)
    for epoch in (3, 4, 5):
        append(log, 2, epoch=epoch)
    flush(log)
    write(directory.new_recovery_points())
    log.advance_start(4)
    append(log, epoch=6)
    flush(log)

    disk.crash(Random(0), Loss.ALL)

    again = open_log(a_directory(disk))
    assert [batch.header.leader_epoch for batch in read_all(again)] == [3, 3, 4, 4, 5, 5, 6]
    assert [again.epochs.epoch_of(offset) for offset in range(7)] == [3, 3, 4, 4, 5, 5, 6]


@pytest.mark.parametrize("steps", range(14))
def test_a_format_that_was_interrupted_can_be_done_again(steps: int):
    disk = MemoryDisk()
    paths = Paths(data=(PATH,), metadata=PATH)
    stop_after(disk, steps)
    with suppress(PowerOff):
        ensure_formatted(disk, paths, node_id=1, chance=Random(1), now=NOW)
    disk.before_step = None
    disk.crash(Random(steps), Loss.NOTHING)

    ensure_formatted(disk, paths, node_id=1, chance=Random(1), now=NOW)

    assert load(disk, paths, node_id=1)[PATH].node_id == 1
