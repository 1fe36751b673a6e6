"""The partitions of a broker follow the cluster's metadata: created, led, removed, and what is found on disk judged."""

from collections.abc import Sequence

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.flush import Flush
from klamm.metadata.image import ClusterImage, PartitionImage, TopicImage
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.replication.partition import Partition
from klamm.replication.replicas import Replicas
from klamm.storage.log_directories import LogDirectory
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000
AT = Now(0, NOW)
US = 1
OTHER = 2
FIRST_ID = Uuid(bytes([1] * 16))
SECOND_ID = Uuid(bytes([2] * 16))


def one_by_one(flushes: Sequence[Flush]) -> None:
    for flush in flushes:
        flush.run()


def a_disk(*paths: str) -> MemoryDisk:
    disk = MemoryDisk()
    for path in paths or ("/data",):
        disk.mkdir(path)
    return disk


def some_replicas(disk: MemoryDisk | None = None, *paths: str, **settings: object) -> Replicas:
    paths = paths or ("/data",)
    disk = disk or a_disk(*paths)
    directories = [
        LogDirectory(disk, path, Uuid(bytes([9] * 15 + [number])))
        for number, path in enumerate(paths)
    ]
    wanted = TopicSettings(**settings)  # type: ignore[arg-type]
    return Replicas(
        US,
        directories,
        lambda image, topic: wanted,
        producer_expiry_ms=86_400_000,
        on_failure=lambda *_: None,
    )


def a_topic(
    name: str = "t",
    topic_id: Uuid = FIRST_ID,
    partitions: int = 1,
    *,
    epoch: int = 0,
    replicas: tuple[int, ...] = (US,),
    leader: int = US,
) -> TopicImage:
    state = PartitionImage(
        replicas=replicas, isr=replicas, leader=leader, leader_epoch=epoch, partition_epoch=epoch
    )
    return TopicImage(name, topic_id, (state,) * partitions)


def an_image(*topics: TopicImage) -> ClusterImage:
    return ClusterImage(
        topics_by_name={topic.name: topic for topic in topics},
        topics_by_id={topic.topic_id: topic for topic in topics},
    )


def apply(replicas: Replicas, *topics: TopicImage) -> None:
    image = an_image(*topics)
    for topic in topics:
        assert replicas.apply_topic(image, topic, AT) == []


def partition_of(replicas: Replicas, topic: str = "t", index: int = 0) -> Partition:
    partition = replicas.find(topic, index)
    assert partition is not None
    return partition


def append(partition: Partition, count: int = 1) -> None:
    batch = build_batch([Record(timestamp=NOW, value=b"v")] * count)
    partition.append(batch, acks=-1, now=NOW)


def names(replicas: Replicas) -> Sequence[str]:
    return sorted(str(partition.name) for partition in replicas)


def stop(replicas: Replicas) -> None:
    replicas.close(now=NOW, broker_epoch=1, run=one_by_one)


def test_a_new_topic_gets_logs_and_is_led() -> None:
    replicas = some_replicas()

    apply(replicas, a_topic(partitions=2))

    assert names(replicas) == ["t-0", "t-1"]
    assert all(partition.is_leader for partition in replicas)
    append(partition_of(replicas, index=1))
    assert partition_of(replicas, index=1).high_watermark == 1


def test_partitions_of_other_brokers_are_not_ours() -> None:
    replicas = some_replicas()

    apply(replicas, a_topic(replicas=(OTHER,), leader=OTHER))

    assert len(replicas) == 0


def test_a_partition_led_by_another_is_here_but_not_led() -> None:
    replicas = some_replicas()

    apply(replicas, a_topic(replicas=(OTHER, US), leader=OTHER))

    assert not partition_of(replicas).is_leader


def test_more_partitions_leave_the_old_ones_alone() -> None:
    replicas = some_replicas()
    apply(replicas, a_topic(partitions=1))
    old = partition_of(replicas)
    append(old)

    apply(replicas, a_topic(partitions=3))

    assert partition_of(replicas) is old
    assert (old.high_watermark, len(replicas)) == (1, 3)


def test_a_new_epoch_is_taken_over() -> None:
    replicas = some_replicas()
    apply(replicas, a_topic(epoch=0))
    append(partition_of(replicas))

    apply(replicas, a_topic(epoch=4))

    partition = partition_of(replicas)
    assert partition.leader_epoch == 4
    assert partition.end_of_epoch(0) == (0, 1)


def test_what_is_not_here_is_unknown() -> None:
    replicas = some_replicas()
    apply(replicas, a_topic())

    for name, index in (("t", 1), ("t", -1), ("u", 0)):
        with pytest.raises(ApiError) as unknown:
            replicas.get(name, index)
        assert unknown.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- deleting -----------------------------------------------------------------------------------------------------------


def test_a_deleted_topic_is_gone_and_its_files_are_the_callers() -> None:
    disk = a_disk()
    replicas = some_replicas(disk)
    topic = a_topic(partitions=2)
    apply(replicas, topic, a_topic("kept", SECOND_ID))

    removed = replicas.remove_topic(topic)

    assert [str(partition.name) for partition in removed] == ["t-0", "t-1"]
    assert not any(partition.is_leader for partition in removed)
    assert names(replicas) == ["kept-0"]
    assert disk.exists("/data/t-0")


def test_a_topic_with_the_same_name_and_another_id_is_not_deleted_by_mistake() -> None:
    replicas = some_replicas()
    apply(replicas, a_topic(topic_id=SECOND_ID))

    assert replicas.remove_topic(a_topic(topic_id=FIRST_ID)) == []
    assert names(replicas) == ["t-0"]


def test_a_topic_made_again_with_another_id_begins_empty() -> None:
    disk = a_disk()
    replicas = some_replicas(disk)
    apply(replicas, a_topic(topic_id=FIRST_ID))
    append(partition_of(replicas), 3)

    apply(replicas, a_topic(topic_id=SECOND_ID))

    partition = partition_of(replicas)
    assert (partition.topic_id, partition.log.end_offset) == (SECOND_ID, 0)
    assert [n for n in disk.listdir("/data") if n.endswith("-delete")] != []


# -- starting -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_start_finds_what_was_there(is_clean: bool) -> None:
    disk = a_disk()
    before = some_replicas(disk)
    apply(before, a_topic())
    append(partition_of(before), 3)
    if is_clean:
        stop(before)

    replicas = some_replicas(disk)
    loaded = replicas.load(an_image(a_topic(epoch=1)), AT)

    assert loaded == ([], [], {})
    partition = partition_of(replicas)
    assert (partition.high_watermark, partition.leader_epoch) == (3, 1)


def test_a_directory_that_no_topic_claims_is_set_aside() -> None:
    disk = a_disk()
    before = some_replicas(disk)
    apply(before, a_topic("stray", partitions=2), a_topic("kept", SECOND_ID))
    stop(before)

    replicas = some_replicas(disk)
    loaded = replicas.load(an_image(a_topic("kept", SECOND_ID)), AT)

    assert len(loaded.strays) == 2
    assert all(path.endswith("-stray") and disk.exists(path) for path in loaded.strays)
    assert names(replicas) == ["kept-0"]
    # And once is enough.
    stop(replicas)
    assert some_replicas(disk).load(an_image(a_topic("kept", SECOND_ID)), AT).strays == []


def test_an_image_older_than_the_registration_sets_nothing_aside() -> None:
    disk = a_disk()
    before = some_replicas(disk)
    apply(before, a_topic("new", partitions=2), a_topic("old", SECOND_ID))
    replicas = some_replicas(disk)

    loaded = replicas.load(an_image(a_topic("old", SECOND_ID)), AT, is_current=False)

    assert loaded.strays == []
    apply(replicas, a_topic("new", partitions=2))
    assert [name for name in disk.listdir("/data") if name.endswith("-stray")] == []
    assert replicas.find("new", 1) is not None


def test_the_log_of_a_topic_that_was_made_again_meanwhile_is_set_aside() -> None:
    """A crash came between the deletion in the metadata log and that of the files."""
    disk = a_disk()
    before = some_replicas(disk)
    apply(before, a_topic(topic_id=FIRST_ID))
    append(partition_of(before), 3)
    stop(before)

    replicas = some_replicas(disk)
    loaded = replicas.load(an_image(a_topic(topic_id=SECOND_ID)), AT)

    assert (len(loaded.strays), loaded.problems) == (1, [])
    partition = partition_of(replicas)
    assert (partition.topic_id, partition.log.end_offset) == (SECOND_ID, 0)


def test_a_partition_is_found_in_the_directory_where_it_lies() -> None:
    paths = ("/first", "/second")
    disk = a_disk(*paths)
    before = some_replicas(disk, *paths)
    apply(before, a_topic(partitions=2))
    home = {p.name: before.home_of(p).path for p in before}
    assert set(home.values()) == set(paths)
    stop(before)

    replicas = some_replicas(disk, *paths)
    replicas.load(an_image(a_topic(partitions=2)), AT)

    assert {p.name: replicas.home_of(p).path for p in replicas} == home


def test_a_log_that_cannot_be_opened_takes_only_its_partition_offline() -> None:
    disk = a_disk()
    before = some_replicas(disk)
    apply(before, a_topic(partitions=2))
    for partition in before:
        append(partition)
    disk.fail("open", "t-0/00000000000000000000.log")

    replicas = some_replicas(disk)
    loaded = replicas.load(an_image(a_topic(partitions=2)), AT)

    assert [problem.partition(":")[0] for problem in loaded.problems] == ["t-0"]
    assert names(replicas) == ["t-1"]
    with pytest.raises(ApiError) as offline:
        replicas.get("t", 0)
    assert offline.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert disk.exists("/data/t-0")


def test_a_directory_that_fails_leaves_the_others_to_new_partitions() -> None:
    paths = ("/first", "/second")
    replicas = some_replicas(None, *paths)
    replicas.directories[0].failure = OSError("broken")

    apply(replicas, a_topic(partitions=3))

    assert {replicas.home_of(partition).path for partition in replicas} == {"/second"}


# -- settings -----------------------------------------------------------------------------------------------------------


def test_settings_reach_all_partitions_of_the_topic() -> None:
    disk = a_disk()
    limits = {"t": 100, "u": 100}
    replicas = Replicas(
        US,
        [LogDirectory(disk, "/data", FIRST_ID)],
        lambda image, topic: TopicSettings(max_message_bytes=limits[topic]),
        producer_expiry_ms=86_400_000,
        on_failure=lambda *_: None,
    )
    topics = (a_topic("t", partitions=2), a_topic("u", SECOND_ID))
    apply(replicas, *topics)

    limits.update(t=7, u=8)
    replicas.reconfigure(an_image(*topics), "t")

    assert {str(p.name): p.settings.max_message_bytes for p in replicas} == {
        "t-0": 7,
        "t-1": 7,
        "u-0": 100,
    }


def test_a_topic_that_is_gone_has_no_settings_to_change() -> None:
    replicas = some_replicas()

    replicas.reconfigure(an_image(), "t")

    assert len(replicas) == 0


def test_high_watermarks_are_known_for_the_checkpoint() -> None:
    replicas = some_replicas()
    apply(replicas, a_topic(partitions=2))
    append(partition_of(replicas, index=1), 4)

    assert replicas.high_watermarks() == {TopicPartition("t", 0): 0, TopicPartition("t", 1): 4}
