"""The small text files of a data directory, byte for byte."""

import pytest

from klamm.base.ids import TopicPartition, Uuid
from klamm.log import checkpoints
from klamm.log.checkpoints import BadCheckpoint
from klamm.testing.disk import MemoryDisk

OFFSETS = {TopicPartition("orders", 0): 12, TopicPartition("a.b-c_d", 11): 0}
PATH = "/data/recovery-point-offset-checkpoint"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.mkdir("/data")
    return disk


def test_offsets_are_written_as_kafka_writes_them(disk: MemoryDisk):
    checkpoints.write_offsets(disk, PATH, OFFSETS)

    assert disk.read(PATH) == b"0\n2\norders 0 12\na.b-c_d 11 0\n"
    assert checkpoints.read_offsets(disk, PATH) == OFFSETS


@pytest.mark.parametrize("content", [None, b"", b"0\n0\n"])
def test_nothing_is_known_before_the_first_writing(disk: MemoryDisk, content: bytes | None):
    if content is not None:
        disk.write(PATH, content)

    assert checkpoints.read_offsets(disk, PATH) == {}


@pytest.mark.parametrize(
    "text", ["1\n0\n", "0\n2\norders 0 12\n", "0\n1\norders 0\n", "0\n1\norders x 12\n", "0"]
)
def test_other_content_is_refused_with_the_name_of_the_file(disk: MemoryDisk, text: str):
    disk.write(PATH, text.encode())

    with pytest.raises(BadCheckpoint, match="recovery-point"):
        checkpoints.read_offsets(disk, PATH)


def test_properties_read_back_with_kafkas_comment_lines(disk: MemoryDisk):
    path = "/data/meta.properties"
    assert checkpoints.read_properties(disk, path) is None

    disk.write(path, b"#\n#Sat Nov 15 22:03:00 UTC 2025\nversion=1\nnode.id = 1\ncluster.id=a=b\n")

    assert checkpoints.read_properties(disk, path) == {
        "version": "1",
        "node.id": "1",
        "cluster.id": "a=b",
    }


def test_the_clean_shutdown_marker_is_taken_once(disk: MemoryDisk):
    checkpoints.write_clean_shutdown(disk, "/data", broker_epoch=13)

    assert disk.read("/data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":13}'
    assert checkpoints.take_clean_shutdown(disk, "/data") == (True, 13)
    assert checkpoints.take_clean_shutdown(disk, "/data") == (False, -1)


def test_a_marker_without_an_epoch_still_says_that_the_stop_was_clean(disk: MemoryDisk):
    disk.write("/data/.kafka_cleanshutdown", b"")

    assert checkpoints.take_clean_shutdown(disk, "/data") == (True, -1)


def test_a_topic_id_reads_back_and_a_torn_one_is_unknown(disk: MemoryDisk):
    topic_id = Uuid(bytes(range(16)))
    checkpoints.write_topic_id(disk, "/data", topic_id)
    content = disk.read("/data/partition.metadata")

    assert len(content) == 43
    assert checkpoints.read_topic_id(disk, "/data") == topic_id
    for size in range(len(content)):
        disk.write("/data/partition.metadata", content[:size])
        assert checkpoints.read_topic_id(disk, "/data") is None
