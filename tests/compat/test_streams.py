"""A Kafka Streams application that counts words exactly once, while it and the broker are killed again and again.

streams/WordCount.java writes each word with the number of times it has come. If nothing is lost and nothing is counted
twice, whoever reads committed records sees 1, 2, 3, ... for each word, up to the number of times it was sent.
"""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support import kafka_jars
from support.brokers import Broker, free_port, start_kafka, start_klamm
from support.patience import eventually

pytestmark = pytest.mark.compat

PROGRAM = Path(__file__).parent / "streams" / "WordCount.java"
INPUT, OUTPUT, PARTITIONS = "lines", "counts", 2
VOCABULARY = [f"word{number}" for number in range(40)]
WORDS_PER_LINE = 5
LINES_PER_ROUND = 2_000
PATIENCE_SECONDS = 60
QUIET = {"log_level": 0}
SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}


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


@dataclass(slots=True)
class Story:
    """What was sent, and the counts of each word that came out: those committed, and all."""

    sent: Counter[str] = field(default_factory=Counter)
    committed: dict[str, list[int]] = field(default_factory=dict)
    uncommitted: dict[str, list[int]] = field(default_factory=dict)
    application_output: str = ""
    broker_output: str = ""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Broker]]:
    """Starts the broker, each time on the same files and port."""
    choice = os.environ.get("KLAMM_COMPAT_BOOTSTRAP")
    if choice not in (None, "kafka"):
        pytest.skip("a broker that is not ours cannot be restarted")
    home, port = tmp_path_factory.mktemp("streams-broker"), free_port()
    started: list[Broker] = []

    def again() -> Broker:
        if choice:
            broker = start_kafka(home=home, settings=SETTINGS)
        else:
            broker = start_klamm(home=home, port=port, settings=SETTINGS)
        started.append(broker)
        return broker

    yield again
    for broker in started:
        broker.kill()
    shutil.rmtree(home)


@pytest.fixture(scope="module")
def story(start: Callable[[], Broker], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    home = tmp_path_factory.mktemp("word-count")
    broker = start()
    make_topics(broker.address)
    application = Application(broker.address, home)
    told = Story()
    try:
        live_through_kills(told, broker, start, application)
        told.committed = read_counts(broker.address, "read_committed")
        told.uncommitted = read_counts(broker.address, "read_uncommitted")
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{application.output()[-6_000:]}") from failure
    finally:
        if application.is_running:
            application.kill()
    told.application_output, told.broker_output = application.output(), broker.output()
    yield told
    shutil.rmtree(home)


def live_through_kills(
    told: Story, broker: Broker, start: Callable[[], Broker], application: Application
) -> None:
    """Each round something is killed while a part of its lines is counted and the rest is not."""
    chance = random.Random(5)
    writer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, **QUIET})
    watcher = watch(broker.address)
    application.start()
    for victim in ("application", "application and its state", "broker", "application"):
        before = written(watcher)
        send_lines(writer, told.sent, chance)
        wait_until_written(watcher, before + LINES_PER_ROUND, application)
        if victim == "broker":
            broker.kill()
            start()
            continue
        application.kill()
        if victim == "application and its state":
            shutil.rmtree(application.state)
        application.start()
    wait_until_committed(broker.address, told.sent.total(), application)
    application.stop()
    watcher.close()


def make_topics(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address, **QUIET})
    wanted = [NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT)]
    for made in admin.create_topics(wanted).values():
        made.result(PATIENCE_SECONDS)


def send_lines(writer: Producer, sent: Counter[str], chance: random.Random) -> None:
    failures: list[object] = []

    def delivered(error: object, _: Message) -> None:
        failures.extend([error] if error else [])

    for number in range(LINES_PER_ROUND):
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


def wait_until_committed(address: str, wanted: int, application: Application) -> None:
    """Until as many counts are committed as words were sent."""
    consumer = watch(address, "read_committed")
    consumer.assign([TopicPartition(OUTPUT, each, 0) for each in range(PARTITIONS)])
    seen = 0

    def look() -> None:
        nonlocal seen
        assert application.is_running
        seen += len(consumer.consume(10_000, 0.5))
        assert seen >= wanted

    eventually(look, seconds=PATIENCE_SECONDS)
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


def test_every_word_is_counted_once_for_each_time_it_was_sent(story: Story) -> None:
    assert {word: counts[-1] for word, counts in story.committed.items()} == dict(story.sent)


def test_committed_counts_of_a_word_have_no_gap_and_no_repetition(story: Story) -> None:
    assert story.committed == {word: list(range(1, n + 1)) for word, n in story.sent.items()}


def test_kills_left_counts_behind_that_were_taken_back(story: Story) -> None:
    written, committed = (
        sum(map(len, counts.values())) for counts in (story.uncommitted, story.committed)
    )

    assert written > committed


def test_application_needed_no_help_to_go_on(story: Story) -> None:
    assert "gave up" not in story.application_output


def test_broker_found_nothing_to_complain_about(story: Story) -> None:
    lines = story.broker_output.splitlines()

    assert [line for line in lines if re.search("WARN|ERROR|Traceback", line)] == []
