"""Each one's own tool reads the files that the other left behind, and finds nothing wrong with them."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from support import tools
from support.brokers import CLUSTER_ID
from support.kafka_jars import java_tool, run_java
from twoway.kafka_first import KafkaFirst
from twoway.klamm_first import KlammFirst

pytestmark = pytest.mark.oracle

WRONG = re.compile(
    "mismatch|Found timestamp|exception|isvalid: false|Non-consecutive|failed|corrupt",
    re.IGNORECASE,
)
PARTITION_FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
METADATA = "__cluster_metadata-0"


@pytest.fixture(scope="module")
def data(klamm_first: KlammFirst) -> Path:
    return klamm_first.as_klamm_left_it / "data"


def files(data: Path, folders: str, *suffixes: str) -> list[Path]:
    found = (path for folder in data.glob(folders) for path in folder.iterdir())
    return sorted(path for path in found if path.suffix in suffixes)


def dump(paths: list[Path], *options: str) -> str:
    text = java_tool("DumpLogSegments", *options, "--files", ",".join(map(str, paths)))
    assert [line for line in text.splitlines() if WRONG.search(line)] == []
    assert text.count("Dumping ") == len(paths)
    return text


def test_kafka_reads_every_file_of_every_partition(data: Path, klamm_first: KlammFirst) -> None:
    text = dump(files(data, "[!_]*-[0-9]", *PARTITION_FILES), "--deep-iteration")

    # "| offset: 3 CreateTime: ..." for each record, under the name of its file
    found: dict[str, list[int]] = {}
    for part in text.split("Dumping ")[1:]:
        path = Path(part.partition("\n")[0])
        if path.suffix == ".log":
            offsets = map(int, re.findall(r"^\| offset: (\d+)", part, re.MULTILINE))
            found.setdefault(path.parent.name, []).extend(offsets)
    left = klamm_first.home.stages[0].closing
    for partition, records in left.uncommitted.items():
        seen = [offset for offset, *_ in records]
        assert [offset for offset in found[str(partition)] if offset >= seen[0]] == seen


def test_kafka_finds_every_index_sound(data: Path) -> None:
    indexes = files(data, "*-[0-9]", ".index", ".timeindex")

    text = dump(indexes, "--index-sanity-check")

    assert text.count("passed sanity check") + text.count(".index is empty") == len(indexes)


def test_kafka_decodes_every_metadata_record_and_snapshot(data: Path) -> None:
    logs = files(data, METADATA, ".log")
    snapshots = files(data, METADATA, ".checkpoint")

    text = dump([*logs, *snapshots], "--cluster-metadata-decoder")

    kinds = set()
    for line in text.splitlines():
        if payload := line.partition("payload: ")[2]:
            kinds.add(json.loads(payload)["type"])
    assert kinds >= {
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "REMOVE_TOPIC_RECORD",
        "FEATURE_LEVEL_RECORD",
        "REGISTER_BROKER_RECORD",
        "REGISTER_CONTROLLER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "PRODUCER_IDS_RECORD",
    }
    newest = text.partition(f"Dumping {snapshots[-1]}")[2]
    assert "SnapshotHeader" in newest
    assert "SnapshotFooter" in newest
    assert "KRaftVoters" in newest


def test_snapshots_let_klamm_drop_the_beginning_of_the_metadata_log(data: Path) -> None:
    first, *_ = files(data, METADATA, ".log")

    assert int(first.stem) > 0


def test_kafka_knows_whose_directory_it_is(klamm_first: KlammFirst) -> None:
    text = run_java("kafka.tools.StorageTool", "info", "-c", str(klamm_first.home.config))

    assert f"cluster.id={CLUSTER_ID}" in text
    assert "Found problem" not in text


def epochs_in(checkpoint: Path) -> list[tuple[int, int]]:
    version, count, *lines = checkpoint.read_text().splitlines()
    assert (version, int(count)) == ("0", len(lines))
    return [(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]


def test_leader_epoch_checkpoints_tell_the_epoch_of_every_batch(klamm_first: KlammFirst) -> None:
    last = klamm_first.home.stages[-1].closing
    for partition, stored in last.batches.items():
        entries = epochs_in(klamm_first.home.folder(str(partition)) / "leader-epoch-checkpoint")

        assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(entries))
        for header in (batch.header for batch in stored):
            told = max(epoch for epoch, start in entries if start <= header.last_offset)
            assert told == header.leader_epoch


def test_klamms_own_check_passes_on_what_kafka_left(kafka_first: KafkaFirst) -> None:
    klamm = Path(sys.executable).with_name("klamm")
    directories = list(kafka_first.as_kafka_left_it.iterdir())

    tools.run([klamm, "log", "verify", "--deep", *directories])
