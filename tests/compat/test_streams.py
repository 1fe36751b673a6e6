"""A Kafka Streams application that counts words exactly once, while it and the broker are killed again and again."""

import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Producer

from compat.streams.word_count import (
    LINES_PER_ROUND,
    QUIET,
    Application,
    make_topics,
    read_counts,
    send_lines,
    wait_until_committed,
    wait_until_written,
    watch,
    written,
)
from support.brokers import Broker, free_port, start_kafka, start_klamm

pytestmark = pytest.mark.compat

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
