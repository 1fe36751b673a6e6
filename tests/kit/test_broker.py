"""A broker in a test: in a thread or in a child process, with what a test does to it and asks of it."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from klamm.testing import Broker, Record

ANYWHERE = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])


def consume(bootstrap: str, topic: str, group: str, count: int) -> list[bytes]:
    """As many values as a member of this group finds, committed."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


@ANYWHERE
def test_serves_any_client(process: bool) -> None:
    with Broker(topics={"orders": 3}, process=process) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"one", key=b"k")
        producer.flush(30)

        broker.expect("orders").within(10).equals(("k", "one"))
        assert consume(broker.bootstrap_servers, "orders", "readers", 1) == [b"one"]
        broker.assert_lag("readers", 0)
        assert (broker.pid != os.getpid()) == process


@ANYWHERE
def test_is_gone_after_the_block_with_all_it_had(process: bool) -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))

    with Broker(process=process) as broker:
        address = broker.bootstrap_servers
        broker.topic("orders").produce(["one"])

    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(RuntimeError, match="does not run"):
        broker.bootstrap_servers  # noqa: B018
    # The port is free at once.
    with Broker(port=int(address.rpartition(":")[2])) as again:
        assert again.bootstrap_servers == address


@ANYWHERE
def test_restarts_on_its_port_with_its_data(process: bool) -> None:
    with Broker(topics=["orders"], process=process) as broker:
        broker.produce("orders", ["one"])
        address = broker.bootstrap_servers

        broker.restart()

        assert broker.bootstrap_servers == address
        assert [each.value for each in broker.records("orders")] == [b"one"]


def test_keeps_its_data_where_it_is_told_to(tmp_path: Path) -> None:
    with Broker(topics=["orders"], data=tmp_path) as broker:
        broker.produce("orders", ["one"])

    with Broker(data=tmp_path) as broker:
        assert [each.text for each in broker.records("orders")] == ["one"]


def test_reset_leaves_the_topics_of_the_beginning_and_nothing_else() -> None:
    with Broker(topics={"orders": 2}) as broker:
        broker.produce("orders", [("k", "one")])
        broker.topic("other").produce(["two"])
        assert consume(broker.bootstrap_servers, "orders", "readers", 1) == [b"one"]

        broker.reset()

        assert broker.topics() == ["orders"]
        assert broker.records("orders") == []
        assert broker.lag("readers") == {}
        broker.produce("orders", ["three"])
        assert consume(broker.bootstrap_servers, "orders", "readers", 1) == [b"three"]


def test_is_ready_and_gone_in_an_instant() -> None:
    """The promise is 100 ms and 50 ms, and 5 ms for a reset; on a busy machine not every time."""
    starts, stops, resets = [1.0], [1.0], [1.0]
    for _ in range(100):
        if min(starts) < 0.1 and min(resets) < 0.005 and min(stops) < 0.05:
            break
        began = time.perf_counter()
        broker = Broker(topics={"orders": 3}).start()
        ready = time.perf_counter()
        broker.reset()
        empty = time.perf_counter()
        broker.stop()
        starts.append(ready - began)
        resets.append(empty - ready)
        stops.append(time.perf_counter() - empty)

    assert min(starts) < 0.1
    assert min(resets) < 0.005
    assert min(stops) < 0.05


def test_writes_and_reads_whatever_a_test_has() -> None:
    written = [
        "text",
        b"\xff",
        None,
        {"id": 1},
        ("key", "value"),
        Record("all", key="k", headers={"h": "1"}, timestamp=1_700_000_000_000, partition=0),
    ]
    with Broker(topics=["orders"]) as broker:
        broker.produce("orders", written)

        found = broker.records("orders")

        assert [each.value for each in found] == [
            b"text",
            b"\xff",
            None,
            b'{"id": 1}',
            b"value",
            b"all",
        ]
        assert found[3].json() == {"id": 1}
        assert found[5] == Record(
            b"all", b"k", (("h", b"1"),), "orders", 0, 1_700_000_000_000, offset=5
        )
        broker.expect("orders").within(0).equals(*written)
        broker.expect("orders").contains(lambda record: record.headers == (("h", b"1"),))


def test_failed_expectation_tells_what_was_there() -> None:
    with Broker(topics=["orders"]) as broker:
        broker.produce("orders", [("a", "1"), "2"])

        with pytest.raises(AssertionError) as failure:
            broker.expect("orders").within(0).contains("2", "3")

        assert str(failure.value) == (
            "orders has no 3, after 0 s; it has 2 records\n    orders-0@0 a: 1\n    orders-0@1 2"
        )
        with pytest.raises(AssertionError, match="has what it should not"):
            broker.expect("orders").stays_without("2")
        broker.expect("orders").within(0.05).stays_without("3")
        with pytest.raises(AssertionError, match="in another order"):
            broker.expect("orders").within(0).equals("2", ("a", "1"))


def test_expectation_waits_for_a_topic_and_its_records() -> None:
    with Broker() as broker:
        later = threading.Timer(0.1, lambda: broker.topic("orders").produce(["one"]))
        later.start()

        broker.expect("orders").within(30).contains("one")

        later.join()


def test_lag_is_told_by_partition() -> None:
    with Broker(topics=["orders"]) as broker:
        broker.produce("orders", ["1"])
        consume(broker.bootstrap_servers, "orders", "readers", 1)
        broker.produce("orders", ["2", "3"])

        broker.assert_lag("readers", 2)
        with pytest.raises(AssertionError, match=r"should be behind by 0.*orders-0 by 2"):
            broker.assert_lag("readers", 0, within=0)
        with pytest.raises(AssertionError, match="has committed nothing"):
            broker.assert_lag("nobody", 0, within=0)


def test_tests_that_share_a_broker_have_names_of_their_own() -> None:
    with Broker() as broker:
        with broker.namespace() as ours, broker.namespace() as theirs:
            ours.topic("orders").produce(["ours"])
            theirs.topic("orders", 2).produce([("k", "theirs")])

            assert [each.text for each in ours.records("orders")] == ["ours"]
            assert [each.text for each in theirs.records("orders")] == ["theirs"]
            assert ours.topics() == [ours.name("orders")]

        assert broker.topics() == []


def test_works_inside_a_running_loop() -> None:
    async def scenario() -> list[str | None]:
        async with Broker(topics=["orders"]) as broker:
            # As a notebook does, whose cells run in a loop.
            broker.produce("orders", ["one"])
            assert [each.text for each in broker.records("orders")] == ["one"]
            # And as coroutines do, which go on meanwhile.
            waiting = asyncio.create_task(broker.aio.expect("orders").within(30).contains("two"))
            await broker.aio.produce("orders", ["two"])
            return [each.text for each in await waiting]

    assert asyncio.run(scenario()) == ["two"]


def test_a_broker_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    threads = threading.active_count()
    with Broker() as broker:
        with pytest.raises(Exception, match="is taken by another process"):
            Broker(port=broker.port).start()
        with pytest.raises(Exception, match=r"num\.partitions"):
            Broker(settings={"num.partitions": "many"}).start()
        with pytest.raises(Exception, match="is taken by another process"):
            Broker(port=broker.port, process=True).start()

    assert threading.active_count() == threads


def test_importing_it_imports_neither_the_simulation_nor_pytest_nor_spark() -> None:
    code = (
        "import sys; from klamm.testing import Broker; "
        "print([m for m in sys.modules if m.split('.')[0] in ('pytest', 'pyspark', 'confluent_kafka', 'typer')"
        " or m in ('klamm.testing.world', 'klamm.testing.loop')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
