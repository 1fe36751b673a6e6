"""The same bytes, compacted by a real Kafka and by klamm: the same batches stay, in the same segments.

The topic is not compacted while records are produced. Then its directory is copied, Kafka is told to compact the
original, and klamm compacts the copy. The next round starts from what Kafka left.
"""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from klamm.base.ids import TopicPartition
from klamm.log.checkpoints import CLEANER_OFFSETS, read_offsets
from klamm.log.disk import RealDisk
from klamm.log.index import txn_index
from klamm.log.log import Log
from klamm.protocol.records.batch import HEADER_SIZE, batches
from klamm.protocol.records.reader import read_records
from log.compaction.rounds import clean, compacted, measure
from log.samples import flush
from support.brokers import Broker, start_kafka
from support.patience import eventually

pytestmark = pytest.mark.oracle

SEGMENT_BYTES = 3000
KEYS = [b"key-%d" % number for number in range(12)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    broker = start_kafka(
        settings={
            "log.cleaner.backoff.ms": 50,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
        }
    )
    yield broker
    broker.stop()


class History:
    """Records of all kinds for one partition, by a seed."""

    def __init__(self, address: str, topic: str, seed: int) -> None:
        self._topic = topic
        self._chance = random.Random(seed)
        common = {"bootstrap.servers": address, "linger.ms": 1000, "acks": "all", "log_level": 0}
        self._plain = [Producer({**common, "compression.type": codec}) for codec in CODECS]
        self._idempotent = [Producer({**common, "enable.idempotence": True}) for _ in range(3)]
        self._transactional = [
            Producer({**common, "transactional.id": f"{topic}-{number}"}) for number in range(2)
        ]
        for producer in self._transactional:
            producer.init_transactions(30)

    def write(self, steps: int) -> None:
        for _ in range(steps):
            kind = self._chance.randrange(4)
            if kind == 0:
                self._batch(self._chance.choice(self._plain))
            elif kind == 1:
                self._batch(self._chance.choice(self._idempotent))
            else:
                self._transaction(self._chance.choice(self._transactional))

    def write_plainly(self, steps: int) -> None:
        for _ in range(steps):
            self._batch(self._chance.choice(self._plain))

    def leave_a_transaction_open(self) -> None:
        self._transactional[0].begin_transaction()
        self._batch(self._transactional[0])

    def _transaction(self, producer: Producer) -> None:
        producer.begin_transaction()
        for _ in range(self._chance.randrange(1, 3)):
            self._batch(producer)
            if self._chance.random() < 0.3:
                self._batch(self._chance.choice(self._idempotent))
        if self._chance.random() < 0.5:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)

    def _batch(self, producer: Producer) -> None:
        for _ in range(self._chance.choice((1, 1, 2, 5))):
            value = None if self._chance.random() < 0.25 else self._chance.randbytes(40)
            key = None if self._chance.random() < 0.03 else self._chance.choice(KEYS)
            producer.produce(self._topic, value=value, key=key, headers=[("h", b"x")])
        assert producer.flush(30) == 0


@pytest.mark.parametrize("seed", range(3))
def test_what_stays_of_a_random_history_is_what_kafka_keeps(
    kafka: Broker, tmp_path: Path, seed: int
) -> None:
    topic = _create(kafka, f"random-{seed}", delete_retention_ms=0)
    history = History(kafka.address, topic, seed)

    for number in range(4):
        history.write(steps=15)
        _compare_a_round(kafka, topic, tmp_path / str(number), delete_retention_ms=0)


def test_tombstones_and_markers_wait_for_their_horizon_as_in_kafka(
    kafka: Broker, tmp_path: Path
) -> None:
    topic = _create(kafka, "long-retention", delete_retention_ms=86_400_000)
    history = History(kafka.address, topic, seed=7)

    for number in range(3):
        history.write(steps=12)
        _compare_a_round(kafka, topic, tmp_path / str(number), delete_retention_ms=86_400_000)


def test_an_open_transaction_stops_both_at_the_same_segment(kafka: Broker, tmp_path: Path) -> None:
    topic = _create(kafka, "open-transaction", delete_retention_ms=0)
    history = History(kafka.address, topic, seed=11)
    history.write(steps=12)
    history.leave_a_transaction_open()
    history.write_plainly(steps=12)

    _compare_a_round(kafka, topic, tmp_path / "0", delete_retention_ms=0)


def _compare_a_round(kafka: Broker, topic: str, copy: Path, *, delete_retention_ms: int) -> None:
    original = kafka.data_dir / f"{topic}-0"
    shutil.copytree(original, copy)
    checkpoint = _checkpoint(kafka, topic)
    settings = compacted(
        segment_bytes=SEGMENT_BYTES,
        index_interval_bytes=4096,
        delete_retention_ms=delete_retention_ms,
    )
    disk = RealDisk()
    now = int(time.time() * 1000)
    log = Log.open(disk, str(copy), settings, now=now, clean=True)
    flush(log)
    expected_end = measure(log, settings, checkpoint, now).end_offset

    end = clean(disk, log, settings, checkpoint, now=now)
    log.close(now)
    _configure(kafka, topic, "compact")
    eventually(lambda: _assert_equal(_checkpoint(kafka, topic), expected_end), seconds=30)
    _configure(kafka, topic, "delete")

    assert end == expected_end
    assert _segments(copy, end) == _segments(original, end)


def _assert_equal(found: object, expected: object) -> None:
    assert found == expected


def _segments(directory: Path, end: int) -> dict[str, object]:
    """Everything in the cleaned segments but the values of delete horizons, which name the moment of the round."""
    found: dict[str, object] = {}
    for path in sorted(directory.glob("*.log")):
        if int(path.stem) < end:
            found[path.name] = [
                (
                    # Length and checksum follow from the rest; a base timestamp may be a horizon.
                    replace_fields(header),
                    [] if header.is_control else list(read_records(batch)),
                    len(batch) - HEADER_SIZE > 0,
                )
                for header, batch in batches(path.read_bytes())
            ]
            index = path.with_suffix(".txnindex")
            entries = list(txn_index.parse(index.read_bytes())) if index.exists() else []
            found[index.name] = entries
    return found


def replace_fields(header: object) -> object:
    return header._replace(batch_length=0, crc=0, base_timestamp=0)  # type: ignore[attr-defined]


def _create(kafka: Broker, name: str, *, delete_retention_ms: int) -> str:
    config = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "internal.segment.bytes": str(SEGMENT_BYTES),
        "min.cleanable.dirty.ratio": "0.0",
        "delete.retention.ms": str(delete_retention_ms),
        "file.delete.delay.ms": "0",
    }
    topic = NewTopic(name, num_partitions=1, replication_factor=1, config=config)
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([topic])[name].result(30)
    return name


def _configure(kafka: Broker, topic: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": kafka.address})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)


def _checkpoint(kafka: Broker, topic: str) -> int | None:
    offsets = read_offsets(RealDisk(), str(kafka.data_dir / CLEANER_OFFSETS))
    return offsets.get(TopicPartition(topic, 0))
