"""ConsumerGroupCommand: what an operator does with a group, on groups of both kinds."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat.conftest import MakeTopic
from support.kafka_jars import run_java
from support.patience import eventually

pytestmark = pytest.mark.compat

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
Command = Callable[..., str]
TEN = 10


@pytest.fixture
def group() -> str:
    return f"commanded-{uuid4().hex[:12]}"


@pytest.fixture
def command(bootstrap: str, group: str) -> Command:
    """Runs the tool on the group."""

    def run(*args: str, check: bool = True) -> str:
        return run_java(
            COMMAND, "--bootstrap-server", bootstrap, "--group", group, *args, check=check
        )

    return run


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    """Two partitions of ten records."""
    topic = make_topic(2)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(2 * TEN):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(20) == 0
    return topic


@pytest.fixture(params=["classic", "consumer"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def consumer(bootstrap: str, group: str, topic: str, protocol: str) -> Iterator[Consumer]:
    """A member of the group that has both partitions and has committed 4 and 6."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])

    def has_both() -> None:
        consumer.poll(0.1)
        assert len(consumer.assignment()) == 2

    eventually(has_both)
    places = [TopicPartition(topic, index, offset) for index, offset in ((0, 4), (1, 6))]
    consumer.commit(offsets=places, asynchronous=False)
    yield consumer
    consumer.close()


def offsets(described: str) -> dict[int, tuple[str, str, str]]:
    """Of each partition: what is committed, the end of the log, and the lag."""
    rows = re.findall(r"^\S+ +\S+ +(\d+) +(\S+) +(\S+) +(\S+) ", described, re.MULTILINE)
    return {int(partition): (committed, end, lag) for partition, committed, end, lag in rows}


def resets(printed: str) -> dict[int, int]:
    return {int(p): int(at) for p, at in re.findall(r" (\d+) +(\d+)\s*$", printed, re.MULTILINE)}


def test_a_group_is_described_reset_and_deleted(
    command: Command, consumer: Consumer, group: str, topic: str
) -> None:
    with_member = command("--describe")
    state = command("--describe", "--state")
    members = command("--describe", "--members", "--verbose")
    still_used = command("--delete", check=False)
    consumer.close()
    scope = ("--reset-offsets", "--topic", topic)
    planned = command(*scope, "--to-earliest", "--dry-run")
    moved = command(*scope, "--shift-by", "-3", "--execute")
    partly = command("--reset-offsets", "--topic", f"{topic}:1", "--to-latest", "--execute")
    after = command("--describe")
    forgotten = command("--delete-offsets", "--topic", f"{topic}:0")
    left = command("--describe", "--offsets")
    deleted = command("--delete")

    assert offsets(with_member) == {0: ("4", "10", "6"), 1: ("6", "10", "4")}
    assert re.search(r"/127\.0\.0\.1 +reader", with_member)
    assert re.search(rf"{group} .* Stable +1\s", state)
    assert f"{topic}:0,1" in members
    assert "GroupNotEmptyException" in still_used
    assert resets(planned) == {0: 0, 1: 0}
    assert resets(moved) == {0: 1, 1: 3}
    assert resets(partly) == {1: TEN}
    assert offsets(after) == {0: ("1", "10", "9"), 1: ("10", "10", "0")}
    assert "Request succeeded for deleting offsets" in forgotten
    assert offsets(left) == {1: ("10", "10", "0")}
    assert f"('{group}') was successful" in deleted


def test_groups_are_listed_with_their_kind_and_state(
    bootstrap: str, consumer: Consumer, group: str, protocol: str
) -> None:
    def row() -> list[str]:
        listed = run_java(COMMAND, "--bootstrap-server", bootstrap, "--list", "--state", "--type")
        (found,) = (line.split() for line in listed.splitlines() if line.startswith(group))
        return found

    with_member = row()
    consumer.close()

    assert with_member == [group, protocol.capitalize(), "Stable"]
    assert row() == [group, protocol.capitalize(), "Empty"]
