"""A partition: who may write and read, and up to where."""

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import Origin
from klamm.metadata.image import PartitionImage
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.protocol.records.reader import Record
from klamm.replication.partition import Isolation, Partition
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000
TOPIC_ID = Uuid(bytes(range(16)))
EVERYTHING = 1 << 20


def a_partition(disk: MemoryDisk | None = None, **settings: object) -> Partition:
    wanted = TopicSettings(**settings)  # type: ignore[arg-type]
    log = Log.open(
        disk or MemoryDisk(), "/data/t-0", wanted, now=NOW, clean=True, topic_id=TOPIC_ID
    )
    return Partition(TopicPartition("t", 0), TOPIC_ID, log, wanted)


def a_leader(
    disk: MemoryDisk | None = None,
    *,
    epoch: int = 0,
    isr: tuple[int, ...] = (1,),
    replica_count: int = 1,
    **settings: object,
) -> Partition:
    partition = a_partition(disk, **settings)
    lead(partition, epoch=epoch, isr=isr, replica_count=replica_count)
    return partition


def lead(
    partition: Partition, *, epoch: int, isr: tuple[int, ...] = (1,), replica_count: int = 1
) -> None:
    state = PartitionImage(
        replicas=tuple(range(1, replica_count + 1)),
        isr=isr,
        leader=1,
        leader_epoch=epoch,
        partition_epoch=epoch,
    )
    partition.make_leader(state, now=Now(0, NOW), broker_epochs=lambda _: None)


def append(partition: Partition, *values: bytes, acks: int = -1, **header: object) -> int:
    batch = build_batch([Record(timestamp=NOW, value=value) for value in values], **header)  # type: ignore[arg-type]
    return partition.append(batch, acks=acks, now=NOW).base_offset


def read_all(partition: Partition, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> int:
    """How many bytes a reader of this kind gets from the start."""
    found = partition.read(
        partition.log.start_offset, EVERYTHING, isolation=isolation, min_one=True
    )
    return 0 if found is None else found.size


def code_of(refused: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return refused.value.code


def test_nobody_writes_to_a_partition_without_a_leader() -> None:
    partition = a_partition()

    with pytest.raises(ApiError) as refused:
        append(partition, b"x")

    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.end_offset == 0


def test_what_a_lone_leader_appends_is_committed_at_once() -> None:
    partition = a_leader()

    assert append(partition, b"one", b"two") == 0
    assert append(partition, b"three") == 2

    assert partition.high_watermark == partition.last_stable_offset == 3


def test_a_leader_finds_everything_in_its_log_committed() -> None:
    disk = MemoryDisk()
    before = a_leader(disk)
    append(before, b"one")
    before.log.close(NOW)

    partition = a_leader(disk, epoch=1)

    assert partition.high_watermark == 1


def test_a_new_epoch_begins_where_the_log_ends() -> None:
    partition = a_leader(epoch=0)
    append(partition, b"one", b"two")

    lead(partition, epoch=3)
    append(partition, b"three")

    assert [partition.end_of_epoch(epoch) for epoch in (0, 1, 2, 3)] == [
        (0, 2),
        (0, 2),
        (0, 2),
        (3, 3),
    ]


def test_an_epoch_before_the_log_or_after_it_is_unknown() -> None:
    partition = a_leader(epoch=2)
    append(partition, b"one")

    assert partition.end_of_epoch(9) == (-1, -1)
    assert partition.end_of_epoch(-1) == (-1, -1)


def test_acks_all_needs_enough_replicas_in_sync() -> None:
    partition = a_leader(isr=(1,), replica_count=3, min_insync_replicas=2)

    with pytest.raises(ApiError) as refused:
        append(partition, b"x", acks=-1)

    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert append(partition, b"x", acks=1) == 0


def test_no_more_replicas_are_needed_than_there_are() -> None:
    partition = a_leader(isr=(1,), replica_count=1, min_insync_replicas=2)

    assert append(partition, b"x", acks=-1) == 0


@pytest.mark.parametrize(
    ("known", "code"),
    [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_client_must_know_the_leader_of_now(known: int, code: ErrorCode) -> None:
    partition = a_leader(epoch=5)

    with pytest.raises(ApiError) as refused:
        partition.check_leader(known)

    assert code_of(refused) == code


@pytest.mark.parametrize("known", [-1, 5])
def test_the_epoch_of_now_or_none_is_fine(known: int) -> None:
    a_leader(epoch=5).check_leader(known)


def test_a_follower_is_not_asked() -> None:
    with pytest.raises(ApiError) as refused:
        a_partition().check_leader(-1)

    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


# -- transactions -------------------------------------------------------------------------------------------------------


def in_transaction(partition: Partition, sequence: int) -> int:
    return append(
        partition,
        b"undecided",
        transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=sequence,
    )


def test_readers_of_committed_data_stop_before_an_open_transaction() -> None:
    partition = a_leader()
    append(partition, b"decided")
    decided = read_all(partition)
    in_transaction(partition, 0)
    append(partition, b"after it")

    assert partition.last_stable_offset == 1
    assert partition.visible_end(Isolation.READ_COMMITTED) == 1
    assert partition.visible_end(Isolation.READ_UNCOMMITTED) == 3
    assert read_all(partition, Isolation.READ_COMMITTED) == decided
    assert read_all(partition, Isolation.READ_UNCOMMITTED) > 2 * decided


def test_a_marker_ends_the_wait() -> None:
    partition = a_leader()
    in_transaction(partition, 0)
    assert partition.last_stable_offset == 0

    marker = end_marker_batch(
        EndMarker(is_commit=False, coordinator_epoch=0),
        producer_id=7,
        producer_epoch=0,
        timestamp=NOW,
    )
    partition.log.append(marker, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)
    partition.high_watermark = partition.log.end_offset

    assert partition.last_stable_offset == 2
    assert partition.aborted_transactions(0, 2) == [(7, 0)]


# -- deleting records ---------------------------------------------------------------------------------------------------


def test_records_are_deleted_up_to_an_offset_or_all() -> None:
    partition = a_leader()
    append(partition, b"0", b"1", b"2")

    assert partition.delete_records(2) == 2
    assert partition.delete_records(1) == 2
    assert partition.delete_records(-1) == 3
    assert partition.log.start_offset == 3


@pytest.mark.parametrize("offset", [2, -2])
def test_what_is_not_committed_cannot_be_deleted(offset: int) -> None:
    partition = a_leader()
    append(partition, b"0")

    with pytest.raises(ApiError) as refused:
        partition.delete_records(offset)

    assert code_of(refused) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.log.start_offset == 0


def test_only_a_leader_deletes_records() -> None:
    with pytest.raises(ApiError) as refused:
        a_partition().delete_records(-1)

    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


# -- settings and failures ----------------------------------------------------------------------------------------------


def test_new_settings_hold_for_the_next_append() -> None:
    partition = a_leader()
    append(partition, b"x" * 500)

    partition.reconfigure(TopicSettings(max_message_bytes=200))

    with pytest.raises(ApiError) as refused:
        append(partition, b"x" * 500)
    assert code_of(refused) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_disk_that_fails_is_reported_and_the_client_told() -> None:
    disk = MemoryDisk()
    partition = a_leader(disk)
    heard: list[tuple[Partition, OSError]] = []
    partition.on_failure = lambda *what: heard.append(what)
    append(partition, b"one")

    disk.fail("pwrite")
    with pytest.raises(ApiError) as refused:
        append(partition, b"two")

    assert code_of(refused) == ErrorCode.KAFKA_STORAGE_ERROR
    assert [each for each, _ in heard] == [partition]
    assert (partition.high_watermark, partition.log.end_offset) == (1, 1)


def test_an_offline_partition_says_why_it_does_not_answer() -> None:
    partition = a_leader()

    partition.go_offline()

    for ask in (
        lambda: append(partition, b"x"),
        lambda: partition.check_leader(-1),
        lambda: partition.delete_records(-1),
    ):
        with pytest.raises(ApiError) as refused:
            ask()
        assert code_of(refused) == ErrorCode.KAFKA_STORAGE_ERROR
