"""A Kafka Streams application that counts words exactly once, fed, killed and held against what it was sent.

WordCount.java writes each word with the number of times it has come. If nothing is lost and nothing is
counted twice, whoever reads committed records sees 1, 2, 3, ... for each word, up to the number of times it was sent.
"""

import random
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support import kafka_jars
from support.patience import eventually

PROGRAM = Path(__file__).with_name("WordCount.java")
INPUT, OUTPUT, PARTITIONS = "lines", "counts", 2
VOCABULARY = [f"word{number}" for number in range(40)]
WORDS_PER_LINE = 5
LINES_PER_ROUND = 2_000
PATIENCE_SECONDS = 60
QUIET = {"log_level": 0}


class Application:
    """The word count as a process, started and killed as often as wanted."""

    def __init__(self, address: str, home: Path) -> None:
        self.state = home / "state"
        self._output = home / "application-output"
        jars = f"{kafka_jars.compiled(PROGRAM, kafka_jars.streams_classpath)}:{kafka_jars.streams_classpath()}"
        options = (
            "-Xmx256M",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        )
        self._command = kafka_jars.java_command(
            PROGRAM.stem,
            address,
            str(self.state),
            INPUT,
            OUTPUT,
            options=options,
            jars=lambda: jars,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self._output, "ab") as output:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE_SECONDS)
        self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def output(self) -> str:
        return self._output.read_text(errors="replace")


def make_topics(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address, **QUIET})
    wanted = [NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT)]
    for made in admin.create_topics(wanted).values():
        made.result(PATIENCE_SECONDS)


def send_lines(
    writer: Producer, sent: Counter[str], chance: random.Random, count: int = LINES_PER_ROUND
) -> None:
    failures: list[object] = []

    def delivered(error: object, _: Message) -> None:
        failures.extend([error] if error else [])

    for number in range(count):
        # Some words are much more frequent than others.
        words = [VOCABULARY[min(chance.choices(range(40), k=2))] for _ in range(WORDS_PER_LINE)]
        sent.update(words)
        writer.produce(INPUT, " ".join(words), partition=number % PARTITIONS, on_delivery=delivered)
        writer.poll(0)
    assert writer.flush(PATIENCE_SECONDS) == 0
    assert failures == []


def watch(
    address: str,
    isolation: str = "read_uncommitted",
    more: Mapping[str, str | int | bool] | None = None,
) -> Consumer:
    options = {"group.id": "watcher", "enable.auto.commit": False, "isolation.level": isolation}
    return Consumer({"bootstrap.servers": address, **options, **QUIET, **(more or {})})


def written(watcher: Consumer) -> int:
    """How far the output is written, whatever became of it: markers and undone counts as well."""

    def ask() -> int:
        ends = [
            watcher.get_watermark_offsets(TopicPartition(OUTPUT, each), timeout=PATIENCE_SECONDS)
            for each in range(PARTITIONS)
        ]
        return sum(end for _, end in ends)

    # A new topic, and a broker that was killed, are found after a moment.
    return eventually(ask, failures=KafkaException)


def wait_until_written(watcher: Consumer, wanted: int, application: Application) -> None:
    def look() -> None:
        assert application.is_running
        assert written(watcher) >= wanted

    eventually(look, seconds=PATIENCE_SECONDS)


def wait_until_committed(
    address: str, wanted: int, application: Application, seconds: float = PATIENCE_SECONDS
) -> None:
    """Until as many counts are committed as words were sent."""
    consumer = watch(address, "read_committed")
    consumer.assign([TopicPartition(OUTPUT, each, 0) for each in range(PARTITIONS)])
    seen = 0

    def look() -> None:
        nonlocal seen
        assert application.is_running
        seen += len(consumer.consume(10_000, 0.5))
        assert seen >= wanted

    eventually(look, seconds=seconds)
    consumer.close()


def read_counts(address: str, isolation: str) -> dict[str, list[int]]:
    """The counts of each word in their order, from the beginning of the output to its end."""
    consumer = watch(address, isolation, {"enable.partition.eof": True})
    consumer.assign([TopicPartition(OUTPUT, each, 0) for each in range(PARTITIONS)])
    counts: dict[str, list[int]] = {}
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(10_000, 1):
            error, key, value = message.error(), message.key(), message.value()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
                continue
            assert key is not None
            assert value is not None
            counts.setdefault(key.decode(), []).extend(struct.unpack(">q", value))
    consumer.close()
    return counts
