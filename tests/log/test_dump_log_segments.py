"""Kafka's own DumpLogSegments reads every file that a log leaves behind."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from klamm.base.ids import Uuid
from klamm.log.disk import RealDisk
from klamm.log.log import Log
from klamm.log.results import Origin
from klamm.protocol.records.batch import Codec
from log.samples import NOW, a_batch, a_marker, settings
from support.kafka_jars import classpath, java_tool

pytestmark = pytest.mark.oracle

WORST = (
    "mismatch",
    "Mismatch",
    "Found timestamp",
    "Exception",
    "isvalid: false",
    "Non-consecutive",
    "failed",
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    classpath()
    path = tmp_path_factory.mktemp("data") / "orders-0"
    chosen = settings(segment_bytes=8000, index_interval_bytes=300)
    log = Log.open(
        RealDisk(), str(path), chosen, now=NOW, clean=False, topic_id=Uuid(bytes(range(16)))
    )
    fill(log)
    log.close(NOW)
    # Once more after a recovery, which builds every index again, and a truncation.
    log = Log.open(RealDisk(), str(path), chosen, now=NOW, clean=False)
    log.truncate_to(log.end_offset - 3)
    fill(log)
    log.close(NOW)
    return path


def fill(log: Log) -> None:
    """Times that jump, every codec, a producer with sequences, committed, aborted and open transactions."""
    state = log.producers.get(9)
    sequence = 0 if state is None else state.last_sequence + 1
    for number in range(120):
        jumping = NOW + number + number * 7 % 50
        codec = tuple(Codec)[number % 5]
        log.append(
            a_batch(b"a" * 30, b"b", at=jumping, codec=codec), leader_epoch=number // 50, now=NOW
        )
        batch = a_batch(b"c", b"d", producer=(9, 0, sequence))
        log.append(batch, leader_epoch=number // 50, now=NOW)
        sequence += 2
        producer = log.end_offset * 1000
        if number % 20 == 5:
            batch = a_batch(b"t", producer=(producer, 0, 0), transactional=True)
            log.append(batch, leader_epoch=number // 50, now=NOW)
            if number < 100:
                marker = a_marker(producer, abort=number % 40 == 5)
                log.append(marker, leader_epoch=number // 50, now=NOW, origin=Origin.COORDINATOR)


def files(directory: Path, *suffixes: str) -> str:
    return ",".join(str(f) for f in sorted(directory.iterdir()) if f.suffix in suffixes)


def test_kafka_reads_every_batch_and_agrees_with_the_indexes(directory: Path):
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")

    text = java_tool("DumpLogSegments", "--deep-iteration", "--files", files(directory, *suffixes))

    assert [line for line in text.splitlines() if any(word in line for word in WORST)] == []
    assert text.count("Log starting offset") == len(list(directory.glob("*.log"))) > 3
    spans = [tuple(map(int, m)) for m in re.findall(r"baseOffset: (\d+) lastOffset: (\d+)", text)]
    assert spans
    assert all(before[1] + 1 == after[0] for before, after in pairwise(spans))
    assert "producerId: 9 producerEpoch: 0" in text
    assert re.search(r"version: 0 producerId: \d+ firstOffset: \d+", text)


@pytest.mark.parametrize("check", ["--index-sanity-check", "--verify-index-only"])
def test_kafka_finds_the_indexes_sound(directory: Path, check: str):
    text = java_tool("DumpLogSegments", check, "--files", files(directory, ".index", ".timeindex"))

    assert [line for line in text.splitlines() if any(word in line for word in WORST)] == []
    if check == "--index-sanity-check":
        assert text.count("passed sanity check") == 2 * len(list(directory.glob("*.log")))
