"""What a test lets go wrong, as real clients meet it."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from klamm.testing import Broker, Record
from support.patience import eventually


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    settings = {
        "group.consumer.heartbeat.interval.ms": 200,
        "group.consumer.min.heartbeat.interval.ms": 200,
    }
    with Broker(topics={"orders": 2, "other": 1}, settings=settings) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    shared.reset()
    return shared


def producer(broker: Broker, **settings: Any) -> Producer:
    quick = {"linger.ms": 0, "retry.backoff.ms": 10, "retry.backoff.max.ms": 50}
    return Producer({"bootstrap.servers": broker.bootstrap_servers, **quick, **settings})


def send(client: Producer, topic: str, value: str, partition: int = 0) -> list[KafkaError | None]:
    """What the delivery report says."""
    reports: list[KafkaError | None] = []
    client.produce(topic, value, partition=partition, on_delivery=lambda e, _: reports.append(e))
    assert client.flush(30) == 0
    return reports


def values(broker: Broker, topic: str) -> list[str | None]:
    return [each.text for each in broker.records(topic)]


def test_a_produce_is_refused_as_often_as_asked_and_then_written_once(broker: Broker) -> None:
    fault = broker.faults.error("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=2)

    assert send(producer(broker), "orders", "one") == [None]

    fault.assert_injected(2)
    assert values(broker, "orders") == ["one"]
    refused = broker.transcript(api="Produce", errors=True)
    assert [each.errors for each in refused] == [("NOT_LEADER_OR_FOLLOWER",)] * 2
    assert "Produce v" in str(refused)
    assert "orders-0" in str(refused)
    assert "[fault: error Produce NOT_LEADER_OR_FOLLOWER]" in str(refused)


def test_an_error_that_clients_do_not_try_again_is_told(broker: Broker) -> None:
    with broker.faults.error("PRODUCE", "TOPIC_AUTHORIZATION_FAILED", topic="orders") as fault:
        (told,) = send(producer(broker), "orders", "one")
        assert send(producer(broker), "other", "two") == [None]

    assert told is not None
    assert told.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert fault.count == 1
    # The end of the block is the end of the fault.
    assert send(producer(broker), "orders", "three") == [None]
    assert values(broker, "orders") == ["three"]


def test_only_the_partitions_in_question_are_refused(broker: Broker) -> None:
    """Java's and aiokafka's producers have many in one request."""
    import asyncio

    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import InvalidTopicError

    async def scenario() -> tuple[Any, Any]:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, linger_ms=20, acks="all"
        ) as client:
            await client.partitions_for("orders")
            sent = [await client.send("orders", b"x", partition=index) for index in (0, 1)]
            return tuple(await asyncio.gather(*sent, return_exceptions=True))  # type: ignore[return-value]

    with broker.faults.error("PRODUCE", "INVALID_TOPIC_EXCEPTION", topic="orders", partition=1):
        fine, refused = asyncio.run(scenario())

    assert fine.offset == 0
    assert isinstance(refused, InvalidTopicError)
    assert [each.partition for each in broker.records("orders")] == [0]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fetch_is_refused_for_a_topic_that_only_its_session_names(broker: Broker) -> None:
    """kafka-python has sessions: later fetches name what changed only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaConsumer, TopicPartition
    broker.produce("orders", [Record("one", partition=0)])
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    )
    consumer.assign([TopicPartition("orders", 0), TopicPartition("other", 0)])
    found: list[bytes] = []

    def read_until(*values: bytes) -> None:
        for records in consumer.poll(100).values():
            found.extend(each.value for each in records)
        assert found == list(values)

    def settled() -> None:
        read_until(b"one")
        assert [each.partitions for each in broker.transcript(api="FETCH")[-2:]] == [(), ()]

    eventually(settled)
    with broker.faults.error("FETCH", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=1) as fault:

        def struck() -> None:
            read_until(b"one")
            fault.assert_injected(1)

        eventually(struck)
    broker.produce("orders", [Record("two", partition=0)])

    eventually(lambda: read_until(b"one", b"two"))
    consumer.close()
    (hit,) = (each for each in broker.transcript(api="FETCH") if each.fault)
    assert hit.partitions == ()
    assert hit.errors == ("NOT_LEADER_OR_FOLLOWER",)


def test_an_answer_that_is_lost_does_not_write_twice(broker: Broker) -> None:
    """The idempotent producer asks again what was done already."""
    client = producer(broker, **{"enable.idempotence": True})
    with broker.faults.disconnect("PRODUCE", after=True, times=1) as fault:
        assert send(client, "orders", "one") == [None]

    fault.assert_injected(1)
    assert len(broker.transcript(api="PRODUCE")) == 2
    assert values(broker, "orders") == ["one"]


def test_a_request_without_an_answer_is_given_up_by_its_client(broker: Broker) -> None:
    # Idempotent: on a busy machine a second try may be late as well.
    quick = {"socket.timeout.ms": 500, "message.timeout.ms": 60_000, "enable.idempotence": True}
    client = producer(broker, **quick)
    fault = broker.faults.drop("PRODUCE", times=1)

    assert send(client, "orders", "one") == [None]

    fault.assert_injected(1)
    assert broker.transcript(api="PRODUCE")[0].milliseconds is None
    assert values(broker, "orders") == ["one"]


def test_a_delay_holds_up_whom_it_names(broker: Broker) -> None:
    with broker.faults.delay("PRODUCE", 0.4, client_id="slow") as fault:
        assert send(producer(broker, **{"client.id": "quick"}), "orders", "one") == [None]
        assert fault.count == 0
        began = time.monotonic()
        assert send(producer(broker, **{"client.id": "slow"}), "orders", "two") == [None]
        assert time.monotonic() - began >= 0.4

    fault.assert_injected(1)


def test_a_client_is_told_that_it_is_throttled(broker: Broker) -> None:
    throttled: list[float] = []
    client = producer(
        broker, throttle_cb=lambda event: throttled.append(round(event.throttle_time, 1))
    )
    with broker.faults.throttle("PRODUCE", 0.2, times=1):
        assert send(client, "orders", "one") == [None]
        eventually(lambda: (client.poll(0.05), _holds(throttled == [0.2])))


def _holds(claim: bool) -> None:
    assert claim


def test_other_apis_fail_too_by_any_of_their_names(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    with broker.faults.error("DescribeGroups", "GROUP_AUTHORIZATION_FAILED", times=1) as fault:
        asked = admin.describe_consumer_groups(["readers"], request_timeout=20)["readers"]
        with pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"):
            asked.result()
    fault.assert_injected(1)


def test_a_fault_that_cannot_be_is_refused(broker: Broker) -> None:
    faults = broker.faults
    with pytest.raises(ValueError, match="Kafka has no API PRODUZE"):
        faults.error("PRODUZE", "NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(ValueError, match="Kafka has no error TOO_LATE"):
        faults.error("PRODUCE", "TOO_LATE")
    with pytest.raises(ValueError, match="does not serve vote"):
        faults.error("VOTE", "UNKNOWN_SERVER_ERROR")
    with pytest.raises(AssertionError, match="should have struck 2 times, it did 0 times"):
        faults.error("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=2).assert_injected()
    faults.delay(None, 1.0, client_id="nobody")

    assert faults.counts() == [
        ("error Produce NOT_LEADER_OR_FOLLOWER", 0),
        ("delay client_id=nobody", 0),
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_forced_rebalance_takes_partitions_away_and_gives_them_back(
    broker: Broker, protocol: str
) -> None:
    assigned: list[int] = []
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"{protocol}-readers",
            "group.protocol": protocol,
            **({"heartbeat.interval.ms": 100} if protocol == "classic" else {}),
        }
    )
    consumer.subscribe(["orders"], on_assign=lambda _, partitions: assigned.append(len(partitions)))

    def poll_until(count: int) -> None:
        consumer.poll(0.05)
        assert assigned == [2] * count

    eventually(lambda: poll_until(1))
    broker.faults.rebalance(f"{protocol}-readers")
    eventually(lambda: poll_until(2), seconds=30)
    consumer.close()


def test_a_producer_is_fenced_by_one_that_takes_its_id(broker: Broker) -> None:
    client = producer(broker, **{"transactional.id": "mine"})
    client.init_transactions(20)
    client.begin_transaction()
    client.produce("orders", b"one", partition=0)
    client.flush(20)

    broker.faults.fence("mine")

    with pytest.raises(KafkaException) as failure:
        client.produce("orders", b"two", partition=0)
        client.commit_transaction(20)
    assert failure.value.args[0].fatal()
    assert values(broker, "orders") == []


def test_a_full_disk_refuses_and_a_restart_brings_back_what_was_acknowledged() -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.produce("orders", ["one"])
        with broker.faults.full_disk(topic="orders") as fault:
            client = producer(broker, **{"message.timeout.ms": 3000})
            (told,) = send(client, "orders", "two")
            assert told is not None
            assert fault.count >= 1

        broker.restart()

        assert values(broker, "orders") == ["one"]
        assert send(producer(broker), "orders", "three") == [None]
        assert values(broker, "orders") == ["one", "three"]


def test_a_torn_write_is_mended_by_the_next_start() -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.produce("orders", ["one"])
        fault = broker.faults.torn_write(topic="orders")
        (told,) = send(producer(broker, **{"message.timeout.ms": 3000}), "orders", "x" * 1000)
        assert told is not None
        fault.assert_injected(1)

        broker.restart()

        assert values(broker, "orders") == ["one"]


def test_faults_work_in_a_child_process() -> None:
    with Broker(topics=["orders"], process=True) as broker:
        fault = broker.faults.error("PRODUCE", "NOT_ENOUGH_REPLICAS", times=1)

        assert send(producer(broker), "orders", "one") == [None]

        fault.assert_injected(1)
        assert broker.transcript(errors=True)[0].errors == ("NOT_ENOUGH_REPLICAS",)
        with pytest.raises(ValueError, match="does not serve vote"):
            broker.faults.error("VOTE", "UNKNOWN_SERVER_ERROR")


def test_without_faults_connections_go_straight_to_the_broker(broker: Broker) -> None:
    client = producer(broker)
    assert send(client, "orders", "one") == [None]
    with broker.faults.delay("HEARTBEAT", 1):
        assert "Diversion" in _dispatches(broker)

    assert _dispatches(broker) == {"method"}


def _dispatches(broker: Broker) -> set[str]:
    from klamm.testing.kit.carriers import InThread

    carrier = broker._carrier
    assert isinstance(carrier, InThread)
    return {type(each.dispatch).__name__ for each in list(carrier.rig._switchboard._connections)}
