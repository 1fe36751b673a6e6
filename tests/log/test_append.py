"""Appending: offsets and epochs, when a new segment begins, what a failing disk leaves."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.log.log import Log
from klamm.log.results import Appended, Origin, UnexpectedOffset
from klamm.protocol.records.batch import stamp
from klamm.testing.disk import MemoryDisk
from log.samples import (
    DIRECTORY,
    NOW,
    a_batch,
    a_log,
    a_marker,
    append,
    append_all,
    headers_of,
    settings,
    values_of,
    with_field,
)

SIZE = len(a_batch(b"v"))


def stamped(base_offset: int, *values: bytes, epoch: int = 3) -> bytearray:
    batch = a_batch(*values)
    stamp(batch, 0, base_offset, epoch)
    return batch


def bases(disk: MemoryDisk) -> list[int]:
    return [int(name[:20]) for name in disk.listdir(DIRECTORY) if name.endswith(".log")]


def test_offsets_follow_each_other():
    log = a_log(MemoryDisk())

    answers = [append(log, a_batch(b"a", b"b")), append(log, a_batch(b"c"))]

    assert answers == [Appended(0, 1, -1, False), Appended(2, 2, -1, False)]
    assert values_of(log) == {0: b"a", 1: b"b", 2: b"c"}
    assert log.end_offset == 3


def test_the_leader_epoch_is_stamped_and_remembered():
    log = a_log(MemoryDisk())

    append_all(log, b"a", b"b", epoch=4)
    append_all(log, b"c", epoch=7)

    assert [header.leader_epoch for header in headers_of(log)] == [4, 4, 7]
    assert log.epochs.entries == ((4, 0), (7, 2))
    assert (log.epochs.latest, log.epochs.end_offset_for(4, log.end_offset)) == (7, (4, 2))


def test_a_view_of_the_network_buffer_is_stamped_in_place_and_not_kept():
    log = a_log(MemoryDisk())
    append_all(log, b"a")
    buffer = bytearray(b"head") + a_batch(b"b") + b"tail"
    view = memoryview(buffer)[4:-4]

    append(log, view)
    view.release()
    buffer[:] = bytes(len(buffer))
    buffer.clear()

    assert values_of(log) == {0: b"a", 1: b"b"}


def test_a_retry_is_answered_with_the_first_offsets_and_not_written():
    log = a_log(MemoryDisk())
    append(log, a_batch(b"a", b"b", producer=(7, 0, 0)))
    append_all(log, b"c")
    size = log.size_bytes()

    again = append(log, a_batch(b"a", b"b", producer=(7, 0, 0)))

    assert again == Appended(0, 1, NOW, True)
    assert (log.end_offset, log.size_bytes()) == (3, size)


# Segments


def test_a_full_segment_is_followed_by_a_new_one():
    disk = MemoryDisk()
    log = a_log(disk, settings(segment_bytes=2 * SIZE))

    append_all(log, *[b"v"] * 5)

    assert bases(disk) == [0, 2, 4]
    assert list(values_of(log)) == [0, 1, 2, 3, 4]


def test_a_segment_ends_when_its_records_span_too_much_time():
    disk = MemoryDisk()
    log = a_log(disk, settings(segment_ms=1000))

    for at in (NOW, NOW + 1000, NOW + 1001, NOW + 1002):
        append(log, a_batch(at=at), now=NOW + 5000)

    assert bases(disk) == [0, 2]


def test_records_without_time_let_the_clock_decide():
    disk = MemoryDisk()
    log = a_log(disk, settings(segment_ms=1000))

    for now in (NOW, NOW + 1000, NOW + 1001):
        append(log, a_batch(at=-1), now=now)

    assert bases(disk) == [0, 2]


def test_jitter_shortens_the_time_of_a_segment_by_a_fixed_amount():
    jittery = settings(segment_ms=10_000, segment_jitter_ms=9_000)

    def rolled_at() -> int:
        log = a_log(MemoryDisk(), jittery)
        append(log, a_batch())
        for age in range(0, 11_000, 100):
            append(log, a_batch(at=NOW + age), now=NOW + age)
            if log.segment_count > 1:
                return age
        return -1

    assert 1_000 <= rolled_at() < 10_000
    assert rolled_at() == rolled_at()


def test_a_full_index_ends_a_segment():
    disk = MemoryDisk()
    # Room for two entries of the time index, one of which is kept for the end of the segment.
    log = a_log(disk, settings(index_interval_bytes=0, segment_index_bytes=36))

    append_all(log, *[b"v"] * 7)

    assert bases(disk) == [0, 3, 6]


def test_offsets_too_far_from_the_base_begin_a_new_segment():
    disk = MemoryDisk()
    log = a_log(disk)
    replicate(log, stamped(0, b"a"))

    replicate(log, stamped(2**31 - 1, b"b"))
    replicate(log, stamped(2**31, b"c"))

    assert bases(disk) == [0, 2**31]
    assert list(values_of(log)) == [0, 2**31 - 1, 2**31]


def test_rolling_an_empty_segment_does_nothing():
    disk = MemoryDisk()
    log = a_log(disk)

    log.roll(NOW)
    append_all(log, b"a")
    log.roll(NOW)
    log.roll(NOW)

    assert bases(disk) == [0, 1]


def test_a_changed_segment_size_counts_at_once():
    disk = MemoryDisk()
    log = a_log(disk)
    append_all(log, b"a", b"b")

    log.reconfigure(settings(segment_bytes=SIZE))
    append_all(log, b"c", b"d")

    assert bases(disk) == [0, 2, 3]


# From others than clients


def replicate(log: Log, data: bytearray) -> Appended:
    return log.append(data, leader_epoch=99, now=NOW, origin=Origin.REPLICATION)


def test_a_follower_keeps_offsets_and_epochs():
    log = a_log(MemoryDisk())

    appended = replicate(log, stamped(5, b"a", b"b", epoch=2) + stamped(9, b"c", epoch=3))

    assert appended == Appended(5, 9, -1, False)
    assert values_of(log, start=0) == {5: b"a", 6: b"b", 9: b"c"}
    assert log.epochs.entries == ((2, 5), (3, 9))
    assert log.end_offset == 10


def test_a_follower_takes_nothing_that_its_leader_cannot_have():
    """A leader that was deposed cut its log and follows, while its answer still read from the file."""
    log = a_log(MemoryDisk())

    with pytest.raises(ApiError):
        log.append(
            stamped(0, b"later", epoch=4), leader_epoch=3, now=NOW, origin=Origin.REPLICATION
        )
    both = stamped(0, b"a", epoch=3) + stamped(1, b"later", epoch=4)
    log.append(both, leader_epoch=3, now=NOW, origin=Origin.REPLICATION)

    assert values_of(log) == {0: b"a"}
    assert log.epochs.entries == ((3, 0),)


def test_a_follower_spreads_many_batches_over_segments():
    disk = MemoryDisk()
    log = a_log(disk, settings(segment_bytes=2 * SIZE))

    replicate(log, bytearray().join(stamped(offset, b"v") for offset in range(5)))

    assert bases(disk) == [0, 2, 4]
    assert list(values_of(log)) == [0, 1, 2, 3, 4]


def test_a_follower_takes_a_batch_larger_than_its_segments():
    log = a_log(MemoryDisk(), settings(segment_bytes=100))

    replicate(log, stamped(0, b"x" * 500))

    assert values_of(log) == {0: b"x" * 500}


def test_a_follower_refuses_what_it_has_and_what_is_damaged():
    log = a_log(MemoryDisk())
    replicate(log, stamped(0, b"a", b"b"))
    damaged = stamped(2, b"c") + stamped(3, b"d")
    damaged[-1] ^= 1

    with pytest.raises(UnexpectedOffset):
        replicate(log, stamped(1, b"b"))
    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.CORRUPT_MESSAGE):
        replicate(log, damaged)

    assert log.end_offset == 2


def test_a_follower_takes_the_whole_batches_of_an_answer_that_was_cut_off():
    log = a_log(MemoryDisk())

    replicate(log, stamped(0, b"a") + stamped(1, b"b")[:-1])

    assert values_of(log) == {0: b"a"}
    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.INVALID_RECORD):
        replicate(log, stamped(1, b"b")[:-1])


def test_a_follower_refuses_a_marker_it_cannot_read_before_writing_anything():
    log = a_log(MemoryDisk())
    marker = a_marker(7, abort=True)
    nonsense = with_field(marker, 61, ">B", 0xFF)
    stamp(nonsense, 0, 1, 0)

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.INVALID_RECORD):
        replicate(log, stamped(0, b"a") + nonsense)

    assert (log.end_offset, log.size_bytes()) == (0, 0)


def test_a_follower_learns_of_producers():
    log = a_log(MemoryDisk())
    batch = a_batch(b"a", producer=(7, 0, 5))
    stamp(batch, 0, 0, 0)

    replicate(log, batch)

    assert append(log, a_batch(b"a", producer=(7, 0, 5))).duplicate


@pytest.mark.parametrize("origin", [Origin.COORDINATOR, Origin.RAFT])
def test_our_own_batches_are_stamped_one_after_the_other(origin: Origin):
    log = a_log(MemoryDisk())

    appended = log.append(
        a_batch(b"a", b"b") + a_batch(b"c"), leader_epoch=4, now=NOW, origin=origin
    )

    assert appended == Appended(0, 2, -1, False)
    assert values_of(log) == {0: b"a", 1: b"b", 2: b"c"}
    assert [header.leader_epoch for header in headers_of(log)] == [4, 4]


def test_a_coordinator_is_held_to_the_size_of_messages():
    log = a_log(MemoryDisk(), settings(max_message_bytes=100))

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.MESSAGE_TOO_LARGE):
        log.append(a_batch(b"x" * 99), leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)


def test_a_coordinator_that_was_replaced_may_not_end_a_transaction():
    log = a_log(MemoryDisk())
    append(log, a_batch(producer=(7, 0, 0), transactional=True))
    newer = a_marker(7, abort=False, coordinator_epoch=5)
    log.append(newer, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)

    older = a_marker(7, abort=False, coordinator_epoch=4)
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    with pytest.raises(ApiError, check=lambda e: e.code is fenced):
        log.append(older, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)


# Names and failures


def test_a_directory_belongs_to_one_topic():
    disk = MemoryDisk()
    mine, other = Uuid(bytes(15) + b"\x05"), Uuid(bytes(15) + b"\x06")
    a_log(disk, topic_id=mine).close(NOW)

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.INCONSISTENT_TOPIC_ID):
        a_log(disk, topic_id=other)

    assert a_log(disk, topic_id=None).topic_id == mine
    content = disk.read(f"{DIRECTORY}/partition.metadata")
    assert content == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABQ"


def test_a_failed_write_changes_nothing_and_leaves_no_torn_bytes():
    disk = MemoryDisk()
    log = a_log(disk)
    append_all(log, b"a")

    disk.fail("pwrite", ".log")
    with pytest.raises(OSError, match="told to fail"):
        append_all(log, b"lost")
    disk.heal()

    assert log.end_offset == 1
    assert disk.file_size(f"{DIRECTORY}/{0:020d}.log") == log.size_bytes()
    append_all(log, b"b")
    log.close(NOW)
    assert values_of(a_log(disk, clean=True)) == {0: b"a", 1: b"b"}


def test_a_deleted_log_leaves_a_directory_that_is_no_partition():
    disk = MemoryDisk()
    log = a_log(disk, topic_id=Uuid(bytes(15) + b"\x05"))
    append_all(log, b"a")

    path = log.delete()

    assert path == f"{DIRECTORY}.{5:032x}-delete"
    assert disk.listdir("/data") == [path.rpartition("/")[2]]


def test_deleting_twice_needs_two_names():
    disk = MemoryDisk()
    a_log(disk).delete()

    path = a_log(disk).delete()

    assert path == f"{DIRECTORY}.{1:032x}-delete"


def test_the_longest_topic_name_still_fits():
    disk = MemoryDisk()
    log = Log.open(disk, f"/data/{'t' * 249}-0", settings(), now=NOW, clean=False)

    assert len(log.delete().rpartition("/")[2]) == 255
