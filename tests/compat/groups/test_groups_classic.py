"""subscribe() with the classic protocol: clients share partitions, take over from one that is lost, and go on where
they stopped."""

import asyncio
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, closing
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat.conftest import MakeTopic
from support.patience import eventually

with warnings.catch_warnings():
    # It loads its schemas by a function that Python is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer

pytestmark = [
    pytest.mark.compat,
    # A closed client of kafka-python leaves two sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PARTITIONS = 6
RECORDS = 60
SESSION_MS = 2_000
Subscribe = Callable[..., Consumer]
ALL = set(range(PARTITIONS))


@pytest.fixture(scope="module", autouse=True)
def _collect_forgotten_sockets() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def topic(make_topic: MakeTopic, bootstrap: str) -> str:
    """Six partitions with ten records each."""
    name = make_topic(PARTITIONS)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce(name, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(20) == 0
    return name


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex[:12]}"


def options_of(bootstrap: str, group: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 200,
        "enable.auto.commit": False,
    }


def _ignore(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """An assignment that the test does not ask about."""


@pytest.fixture
def subscribe(bootstrap: str, group: str, topic: str) -> Iterator[Subscribe]:
    """Opens confluent-kafka consumers of the group; those that still run are closed after the test."""
    opened: list[Consumer] = []

    def open_one(
        on_assign: Callable[[Consumer, list[TopicPartition]], None] = _ignore, **options: Any
    ) -> Consumer:
        named = {name.replace("_", "."): value for name, value in options.items()}
        consumer = Consumer({**options_of(bootstrap, group), **named})
        consumer.subscribe([topic], on_assign=on_assign)
        opened.append(consumer)
        return consumer

    yield open_one
    for consumer in opened:
        consumer.close()


def owned_by(consumer: Consumer) -> set[int]:
    try:
        return {place.partition for place in consumer.assignment()}
    except RuntimeError:
        # It is closed.
        return set()


def until_shared(consumers: list[Consumer], shares: list[int]) -> list[set[int]]:
    """Polls until each partition has one owner, and the shares are of these sizes."""

    def look() -> list[set[int]]:
        for consumer in consumers:
            consumer.poll(0.02)
        owned = [owned_by(consumer) for consumer in consumers]
        assert sorted(map(len, owned)) == sorted(shares)
        assert set().union(*owned) == ALL
        return owned

    return eventually(look, seconds=30)


def members_of(admin: AdminClient, group: str) -> list[str]:
    described = admin.describe_consumer_groups([group])[group].result(20)
    return [member.member_id for member in described.members]


@pytest.mark.parametrize("strategy", ["range,roundrobin", "cooperative-sticky"])
def test_consumers_share_the_partitions_as_they_come_and_go(
    subscribe: Subscribe, strategy: str
) -> None:
    first = subscribe(partition_assignment_strategy=strategy)
    until_shared([first], [6])

    second = subscribe(partition_assignment_strategy=strategy)
    third = subscribe(partition_assignment_strategy=strategy)
    until_shared([first, second, third], [2, 2, 2])

    second.close()
    until_shared([first, third], [3, 3])


KILLED = """
import sys
from confluent_kafka import Consumer
consumer = Consumer(eval(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
while not consumer.assignment():
    consumer.poll(0.05)
print("ready", flush=True)
while True:
    consumer.poll(0.05)
"""


def test_a_consumer_that_is_killed_is_replaced_after_its_session(
    subscribe: Subscribe, bootstrap: str, group: str, topic: str
) -> None:
    options = repr(options_of(bootstrap, group))
    doomed = subprocess.Popen(
        [sys.executable, "-c", KILLED, options, topic], stdout=subprocess.PIPE, text=True
    )
    with doomed:
        try:
            assert doomed.stdout is not None
            assert doomed.stdout.readline() == "ready\n"
            first = subscribe()
            eventually(lambda: assert_owns(first, 3), seconds=30)
        finally:
            doomed.kill()

    until_shared([first], [6])


def assert_owns(consumer: Consumer, count: int) -> None:
    consumer.poll(0.02)
    assert len(owned_by(consumer)) == count


def test_a_static_consumer_comes_back_to_its_partitions_without_a_round(
    subscribe: Subscribe, admin: AdminClient, group: str
) -> None:
    rounds: list[int] = []
    first = subscribe(
        on_assign=lambda _, partitions: rounds.append(len(partitions)),
        group_instance_id="one",
        session_timeout_ms=20_000,
    )
    second = subscribe(group_instance_id="two", session_timeout_ms=20_000)
    owned = until_shared([first, second], [3, 3])
    members, rounds_before = members_of(admin, group), list(rounds)

    second.close()
    again = subscribe(group_instance_id="two", session_timeout_ms=20_000)
    until_shared([first, again], [3, 3])

    assert owned_by(again) == owned[1]
    assert len(set(members_of(admin, group)) - set(members)) == 1
    assert rounds == rounds_before


def test_a_group_goes_on_where_it_stopped(subscribe: Subscribe, topic: str) -> None:
    first = subscribe()
    read = [first.poll(10) for _ in range(RECORDS // 2)]
    assert all(message is not None and message.error() is None for message in read)
    first.commit(asynchronous=False)
    first.close()

    second = subscribe()
    rest = [second.poll(10) for _ in range(RECORDS // 2)]

    values = [message.value() for message in (*read, *rest) if message is not None]
    assert sorted(values) == sorted(b"%d" % number for number in range(RECORDS))
    assert second.poll(0.2) is None


def test_a_tool_sees_the_group_and_deletes_it_when_it_is_empty(
    subscribe: Subscribe, admin: AdminClient, group: str, topic: str
) -> None:
    consumer = subscribe()
    until_shared([consumer], [6])
    described = admin.describe_consumer_groups([group])[group].result(20)
    assert described.state is ConsumerGroupState.STABLE
    assert described.partition_assignor == "range"
    (member,) = described.members
    assert set(member.assignment.topic_partitions) == {TopicPartition(topic, n) for n in ALL}

    consumer.close()

    listed = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result()
    assert group in {each.group_id for each in listed.valid}
    admin.delete_consumer_groups([group])[group].result(20)
    listed = admin.list_consumer_groups().result()
    assert group not in {each.group_id for each in listed.valid}


def test_kafka_python_consumers_share_the_partitions(
    bootstrap: str, group: str, topic: str
) -> None:
    with ExitStack() as stack:

        def open_one() -> KafkaConsumer:
            consumer = KafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=200,
            )
            return stack.enter_context(closing(consumer))

        consumers = [open_one(), open_one()]
        values: set[bytes] = set()
        # Each in a thread of its own: one that waits for the round keeps its thread.
        pool = stack.enter_context(ThreadPoolExecutor(2))

        def look() -> None:
            for found in pool.map(lambda consumer: consumer.poll(timeout_ms=1_000), consumers):
                for records in found.values():
                    values.update(record.value for record in records)
            owned = [{place.partition for place in each.assignment()} for each in consumers]
            assert sorted(map(len, owned)) == [3, 3]
            assert owned[0] | owned[1] == ALL
            assert len(values) == RECORDS

        eventually(look, seconds=40)


def test_aiokafka_consumers_share_the_partitions(bootstrap: str, group: str, topic: str) -> None:
    async def run() -> None:
        async with AsyncExitStack() as stack:
            consumers = [
                await stack.enter_async_context(
                    AIOKafkaConsumer(
                        topic,
                        bootstrap_servers=bootstrap,
                        group_id=group,
                        auto_offset_reset="earliest",
                        session_timeout_ms=SESSION_MS,
                        heartbeat_interval_ms=200,
                    )
                )
                for _ in range(2)
            ]
            values: set[bytes] = set()
            while not (len(values) == RECORDS and are_shared(consumers)):
                for consumer in consumers:
                    for records in (await consumer.getmany(timeout_ms=50)).values():
                        values.update(record.value for record in records)

    asyncio.run(asyncio.wait_for(run(), 40))


def are_shared(consumers: list[AIOKafkaConsumer]) -> bool:
    owned = [{place.partition for place in each.assignment()} for each in consumers]
    return sorted(map(len, owned)) == [3, 3] and owned[0] | owned[1] == ALL
