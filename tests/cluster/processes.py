"""A cluster of real processes on this machine, and a client that writes down what it was promised."""

import asyncio
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

from klamm.base.errors import ApiError
from klamm.cli.app import main as klamm
from klamm.cli.cluster.local import HOST, LocalCluster
from klamm.cli.cluster.ports import free_ports
from klamm.client import Admin
from klamm.client.connection import connect
from klamm.client.environment import Address, Environment
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from support.patience import eventually

T = TypeVar("T")
# Clients that do not wait long before they try again.
QUICK = {
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "log_level": 0,
}


class RealCluster:
    """Nodes have numbers from 1 on. Roles are letters: x broker and controller, b and c one of them."""

    def __init__(
        self,
        home: Path,
        *,
        roles: str = "xxx",
        settings: Mapping[str, object] | None = None,
        of_node: Mapping[int, Mapping[str, object]] | None = None,
    ) -> None:
        texts = {
            "group.initial.rebalance.delay.ms": 0,
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.num.partitions": 3,
            **(settings or {}),
        }
        self._paused: set[int] = set()
        port = free_ports(len(roles))
        self.local = LocalCluster.create(home / "cluster", roles=roles, port=port, settings=texts)
        for number, more in (of_node or {}).items():
            with self.local.node(number).config.open("a") as config:
                config.writelines(f"{name}={value}\n" for name, value in more.items())

    @property
    def bootstrap(self) -> str:
        return self.local.bootstrap

    def start(self, *nodes: int) -> None:
        self.local.start([self.local.node(each) for each in nodes] or None)

    def begin(self, *nodes: int) -> None:
        """Does not wait until they serve."""
        for each in nodes:
            self.local.spawn(self.local.node(each))

    def stop(self, *nodes: int) -> None:
        self.local.stop([self.local.node(each) for each in nodes] or None)

    def kill(self, *nodes: int) -> None:
        for each in nodes:
            self.local.signal(self.local.node(each), SIGKILL)

    def pause(self, node: int) -> None:
        self._paused.add(node)
        self.local.signal(self.local.node(node), SIGSTOP)

    def resume(self, node: int) -> None:
        self._paused.discard(node)
        self.local.signal(self.local.node(node), SIGCONT)

    def destroy(self) -> None:
        for node in self.local.nodes:
            self.local.signal(node, SIGCONT)
        self.local.destroy()

    def replace_disk(self, node: int) -> None:
        """It is forgotten, and its directory is a new one: when it starts, it comes for the first time."""
        home = self.local.node(node)
        self.stop(node)
        self.asks(lambda admin: admin.unregister_broker(node))
        shutil.rmtree(home.data)
        prepared = ["--cluster-id", self.local.cluster_id, "--config", str(home.config)]
        assert klamm(["storage", "format", *prepared]) == 0

    def restore(self) -> None:
        """All of them run, and no topic of a test is there."""
        for node in list(self._paused):
            self.resume(node)
        self.start()
        for topic in self.asks(lambda admin: admin.topics.list()):
            self.asks(lambda admin, name=topic.name: admin.topics.delete(name))
            # librdkafka hangs for ever if it hears of the old topic first, with a later epoch than the new one has.
            until(lambda name=topic.name: self._is_forgotten(name))

    def log_of(self, node: int) -> str:
        return self.local.node(node).log.read_text(errors="replace")

    # As clients see it

    def asks(self, work: Callable[[Admin], Awaitable[T]]) -> T:
        """Something of an administrator."""

        async def ask() -> T:
            async with Admin(self.bootstrap) as admin:
                return await work(admin)

        return asyncio.run(ask())

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 3,
        placed: list[list[int]] | None = None,
        **configs: object,
    ) -> None:
        texts = {key.replace("_", "."): str(value) for key, value in configs.items()}
        if placed is None:
            made = {"partitions": partitions, "replication_factor": replicas}
        else:
            made = {"replicas": dict(enumerate(placed))}
        self.asks(lambda admin: admin.topics.create(name, configs=texts, **made))
        until(lambda: self.state(name, 0) is not None)

    def state(self, topic: str, partition: int) -> tuple[int, tuple[int, ...]] | None:
        """Leader and ISR, as the first node knows them that lives and answers."""
        for node in self.local.brokers:
            if node.pid is not None and node.id not in self._paused:
                with suppress(ApiError, TimeoutError):
                    return asyncio.run(_state(Address(HOST, node.port), topic, partition))
        return None

    def _is_forgotten(self, topic: str) -> bool:
        """By all nodes."""
        return all(
            asyncio.run(_state(Address(HOST, node.port), topic, 0)) is None
            for node in self.local.brokers
        )

    def leader(self, topic: str, partition: int = 0) -> int:
        def look() -> int | None:
            state = self.state(topic, partition)
            return None if state is None or state[0] < 0 else state[0]

        return until(look)

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        return until(lambda: self.state(topic, partition))[1]

    def await_isr(self, topic: str, size: int, partition: int = 0) -> None:
        def look() -> bool:
            state = self.state(topic, partition)
            return state is not None and len(state[1]) == size

        until(look, seconds=60)


async def _state(
    address: Address, topic: str, partition: int
) -> tuple[int, tuple[int, ...]] | None:
    connection = await connect(address, Environment(), client_id="looker", timeout_ms=2000)
    try:
        asked = [MetadataRequestTopic(name=topic)]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        found = await connection.ask(request, MetadataResponse, timeout_ms=2000, at_most=12)
    finally:
        connection.close()
    for each in found.topics[0].partitions:
        if each.partition_index == partition:
            return each.leader_id, tuple(sorted(each.isr_nodes))
    return None


def until(look: Callable[[], T | None], *, seconds: float = 30.0) -> T:
    """Looks until there is something to see."""

    def attempt() -> T:
        found = look()
        assert found, "it did not come to that in time"
        return found

    return eventually(attempt, seconds=seconds)


class Load:
    """Somebody writes all the time."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._is_over.wait(0.005):
            self._ledger.send()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._ledger.flush() == 0


class Ledger:
    """Writes numbered values to one partition, and remembers which were acknowledged at which offset."""

    def __init__(self, cluster: RealCluster, topic: str, **settings: Any) -> None:
        self._topic = topic
        self._bootstrap = cluster.bootstrap
        configured = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, **QUICK}
        self._producer = Producer({**configured, "enable.idempotence": True, **settings})
        self._next = 0
        self.acknowledged: dict[bytes, int] = {}
        self.refused: dict[bytes, KafkaError] = {}

    def write(self, count: int = 1, *, seconds: float = 30.0, partition: int = 0) -> None:
        """Returns when every one of them was answered."""
        for _ in range(count):
            self.send(partition)
        assert self._producer.flush(seconds) == 0, "not all were answered"

    def send(self, partition: int = 0) -> None:
        value = b"%d" % self._next
        self._next += 1
        self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
        self._producer.poll(0)

    def poll(self, seconds: float) -> None:
        self._producer.poll(seconds)

    def flush(self, seconds: float = 30.0) -> int:
        left: int = self._producer.flush(seconds)
        return left

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.acknowledged[message.value()] = message.offset()
        else:
            self.refused[message.value()] = error

    def read_back(self, partition: int = 0) -> dict[int, bytes]:
        """What a consumer finds from the first offset to the last."""
        return read_all(self._bootstrap, self._topic, partition)

    def check(self, partition: int = 0) -> None:
        """What was acknowledged is there, at its offset, once."""
        found = self.read_back(partition)
        values = list(found.values())
        assert len(values) == len(set(values)), "a value was written twice"
        wrong = {value: at for value, at in self.acknowledged.items() if found.get(at) != value}
        assert not wrong, f"acknowledged and not there: {wrong}"


def read_all(bootstrap: str, topic: str, partition: int = 0, **settings: Any) -> dict[int, bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "read-all",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **QUICK,
            **settings,
        }
    )
    found: dict[int, bytes] = {}
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found[message.offset()] = message.value()
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        consumer.close()
    raise AssertionError("the end of the partition was not reached")
