"""Formatting, recognising and locking data directories, with the sentences of Kafka's storage tool."""

import os
import random
import re
from dataclasses import replace

import pytest

from klamm.base.ids import Uuid
from klamm.base.settings.broker import build_settings
from klamm.log.disk import RealDisk
from klamm.metadata.features import LATEST
from klamm.metadata.records.configs import FeatureLevelRecord
from klamm.metadata.snapshot import read_batches
from klamm.server.storage import (
    DataDirectories,
    Paths,
    StorageError,
    ensure_formatted,
    format_directories,
    load,
    read_identity,
)
from klamm.server.world.real import real_world
from klamm.testing.clock import ManualClock
from klamm.testing.disk import MemoryDisk

CLUSTER = "bzX5YNVrRfaerUSLCTKgpg"
PATHS = Paths(("/d1", "/d2"), "/d1")


def format_all(disk, paths=PATHS, *, cluster_id=CLUSTER, node_id=1, ignore_formatted=False):
    return format_directories(
        disk,
        paths,
        cluster_id=cluster_id,
        node_id=node_id,
        chance=random.Random(3),
        now=1_794_780_170_000,
        ignore_formatted=ignore_formatted,
    )


@pytest.fixture
def disk():
    return MemoryDisk()


def test_formatting_says_what_kafka_s_tool_says(disk):
    assert format_all(disk) == [
        "Formatting metadata directory /d1 with metadata.version 4.3-IV0.",
        "Formatting data directory /d2 with metadata.version 4.3-IV0.",
    ]


def test_each_directory_gets_its_identity_and_the_bootstrap_records(disk):
    format_all(disk)

    lines = disk.read("/d1/meta.properties").decode().splitlines()
    assert lines[:3] == ["#", "#Sun Nov 15 22:02:50 UTC 2026", "node.id=1"]
    assert lines[3].startswith("directory.id=")
    assert lines[4:] == ["version=1", f"cluster.id={CLUSTER}"]
    ids = {read_identity(disk, path).directory_id for path in PATHS.all}
    assert len(ids) == 2
    for path in PATHS.all:
        (records,) = read_batches(disk.read(f"{path}/bootstrap.checkpoint"))
        assert records == [
            FeatureLevelRecord(name=name, feature_level=level) for name, level in LATEST.items()
        ]


def test_the_bootstrap_file_has_the_size_of_kafka_s(disk):
    format_all(disk)

    assert disk.file_size("/d1/bootstrap.checkpoint") == 411


def test_what_is_formatted_is_not_formatted_again(disk):
    format_all(disk)

    with pytest.raises(StorageError) as refused:
        format_all(disk)

    assert str(refused.value) == (
        "Log directory /d1 is already formatted. "
        "Use --ignore-formatted to ignore this directory and format the others."
    )
    assert format_all(disk, ignore_formatted=True) == [
        "All of the log directories are already formatted."
    ]


def test_ignoring_formatted_directories_formats_the_others(disk):
    format_all(disk, Paths(("/d1",), "/d1"))

    assert format_all(disk, ignore_formatted=True) == [
        "Formatting data directory /d2 with metadata.version 4.3-IV0."
    ]


def test_a_directory_of_another_cluster_or_node_is_refused(disk):
    format_all(disk)

    with pytest.raises(StorageError) as refused:
        format_all(disk, cluster_id="other", ignore_formatted=True)
    assert str(refused.value) == (
        f"Invalid cluster.id in: /d1/meta.properties. Expected other, but read {CLUSTER}"
    )
    with pytest.raises(StorageError) as refused:
        load(disk, PATHS, node_id=2)
    assert str(refused.value) == "Invalid node.id in: /d1/meta.properties. Expected 2, but read 1"


def test_an_empty_cluster_id_is_refused(disk):
    with pytest.raises(StorageError):
        format_all(disk, cluster_id=" ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("version=1\nnode.id=1\ncluster.id=x\n", "has no directory.id"),
        ("version=0\nbroker.id=1\ncluster.id=x\n", "has version 0"),
        ("version=1\nnode.id=x\ncluster.id=x\ndirectory.id=x\n", "is not readable"),
        ("", "has no version"),
    ],
)
def test_a_broken_identity_is_named(disk, content, problem):
    disk.mkdir("/d1")
    disk.write("/d1/meta.properties", content.encode())

    with pytest.raises(StorageError, match=f"^/d1/meta.properties {problem}"):
        read_identity(disk, "/d1")


def test_a_copied_directory_is_noticed(disk):
    format_all(disk)
    disk.write("/d2/meta.properties", disk.read("/d1/meta.properties"))

    with pytest.raises(StorageError, match="one of them is a copy"):
        load(disk, PATHS, node_id=1)


def test_serving_needs_formatted_directories_or_empty_ones(disk):
    with pytest.raises(StorageError, match="format it first"):
        load(disk, PATHS, node_id=1)

    disk.mkdir("/d1")
    disk.write("/d1/holiday.jpg", b"")
    with pytest.raises(StorageError, match="not empty"):
        ensure_formatted(disk, PATHS, node_id=1, chance=random.Random(1), now=0)


def test_empty_directories_are_formatted_for_a_new_cluster(disk):
    ensure_formatted(disk, PATHS, node_id=1, chance=random.Random(1), now=0)

    found = load(disk, PATHS, node_id=1)
    cluster_ids = {each.cluster_id for each in found.values()}
    assert len(cluster_ids) == 1
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", cluster_ids.pop())


def test_a_new_directory_joins_the_cluster_of_the_others(disk):
    format_all(disk, Paths(("/d1",), "/d1"))

    ensure_formatted(disk, PATHS, node_id=1, chance=random.Random(1), now=0)

    assert read_identity(disk, "/d2").cluster_id == CLUSTER


# Opening


def settings(*directories, **others):
    texts = {name.replace("_", "."): value for name, value in others.items()}
    return build_settings({"log.dirs": ",".join(directories), **texts})


def a_world(disk):
    return replace(real_world(disk), chance=random.Random(1), clock=ManualClock())


def open_directories(disk, *directories, **others):
    return DataDirectories.open(a_world(disk), settings(*directories, **others))


def test_opening_gives_paths_and_ids(disk):
    with open_directories(disk, "/d1", "/d2", metadata_log_dir="/meta") as directories:
        assert [each.path for each in directories.all] == ["/d1", "/d2"]
        assert directories.metadata.path == "/meta"
        assert all(isinstance(each.id, Uuid) for each in directories.all)
        assert directories.node_id == 1
        assert directories.previous_broker_epoch == -1


def test_the_epoch_of_a_clean_stop_counts_only_if_all_directories_have_it(disk):
    open_directories(disk, "/d1", "/d2").close()
    disk.write("/d1/.kafka_cleanshutdown", b'{"version":0,"brokerEpoch":13}')
    assert open_directories(disk, "/d1", "/d2").previous_broker_epoch == -1

    disk.write("/d2/.kafka_cleanshutdown", b'{"version":0,"brokerEpoch":13}')
    assert open_directories(disk, "/d1", "/d2").previous_broker_epoch == 13


def test_a_directory_in_use_is_refused_until_it_is_closed(tmp_path):
    path = str(tmp_path / "data")
    first = open_directories(RealDisk(), path)

    with pytest.raises(StorageError, match="in use by another process"):
        open_directories(RealDisk(), path)

    first.close()
    open_directories(RealDisk(), path).close()


def test_a_directory_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")

    with pytest.raises(StorageError) as refused:
        open_directories(RealDisk(), str(blocker))

    assert "\n" not in str(refused.value)
    assert not os.path.isdir(blocker)


def test_all_but_the_metadatas_directory_may_be_missing_but_not_all_that_hold_partitions(tmp_path):
    good, blocker = tmp_path / "good", tmp_path / "file"
    blocker.write_text("")

    with open_directories(RealDisk(), str(good), str(blocker)) as found:
        assert [each.path for each in found.all] == [str(good)]
        assert list(found.unusable) == [str(blocker)]
    with pytest.raises(StorageError, match="cannot be used"):
        open_directories(RealDisk(), str(blocker), str(good))


def test_metadata_in_another_directory_than_the_config_says_is_refused(disk):
    """A new metadata log beside the old one would be a new, empty cluster on top of the old one's data."""
    format_all(disk)
    disk.mkdir("/d1/__cluster_metadata-0")
    turned = build_settings({"log.dirs": "/d2,/d1", "node.id": "1"})

    with pytest.raises(StorageError) as refused:
        DataDirectories.open(a_world(disk), turned)

    assert str(refused.value) == (
        "Found unexpected metadata location in data directory `/d1/__cluster_metadata-0` "
        "(the configured metadata directory is /d2)."
    )


def test_metadata_that_the_config_wants_in_a_new_directory_is_refused_and_nothing_is_formatted(
    disk,
):
    format_all(disk)
    disk.mkdir("/d1/__cluster_metadata-0")
    moved = build_settings({"log.dirs": "/d1,/d2", "metadata.log.dir": "/new", "node.id": "1"})

    with pytest.raises(StorageError, match="unexpected metadata location"):
        DataDirectories.open(a_world(disk), moved)

    assert read_identity(disk, "/new") is None


@pytest.mark.parametrize("cluster_id", ["a\nnode.id=7", " a", "a b", "a\\", "é", "a\t"])
def test_a_cluster_id_that_would_break_its_file_is_refused(disk, cluster_id):
    with pytest.raises(StorageError, match="cannot be a cluster id"):
        format_all(disk, cluster_id=cluster_id)

    assert read_identity(disk, "/d1") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"controller.quorum.voters": "1@x:9093,2@y:9093,3@z:9093"},
        {"controller.quorum.bootstrap.servers": "x:9093,y:9093"},
        {"controller.quorum.bootstrap.servers": "x:1"},
        {"process.roles": "broker", "controller.quorum.voters": "2@y:9093"},
    ],
    ids=lambda each: next(reversed(each.values())),
)
def test_a_node_among_others_must_be_told_its_cluster(disk, settings):
    texts = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "log.dirs": "/d1,/d2",
        **settings,
    }

    with pytest.raises(StorageError, match=r"No meta\.properties in /d1: format it first"):
        DataDirectories.open(replace(real_world(), disk=disk), build_settings(texts))
