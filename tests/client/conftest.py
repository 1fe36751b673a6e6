"""The same tests against klamm, in this process, and against a real Apache Kafka, where they are marked `oracle`.

Tests are coroutines; each runs on a loop of its own. KLAMM_CLIENT_KAFKA=HOST:PORT takes a Kafka that runs already.
"""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from klamm.base.ids import TopicPartition
from klamm.client import Admin
from klamm.client.list_offsets import LATEST
from klamm.testing import Broker
from support.brokers import start_kafka

# Longer than a request that was never answered waits to be sent again, twice.
LIMIT_SECONDS = 150
SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 5,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 5,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "log.initial.task.delay.ms": 24 * 3_600_000,
}

MakeTopic = Callable[..., Awaitable[str]]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(_limited(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})))
    return True


async def _limited(test: Awaitable[None]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        await test


@pytest.fixture(scope="session")
def klamm_address() -> Iterator[str]:
    with Broker(settings=SETTINGS) as running:
        yield running.bootstrap_servers


@pytest.fixture(scope="session")
def kafka_address() -> Iterator[str]:
    running = os.environ.get("KLAMM_CLIENT_KAFKA")
    if running:
        yield running
        return
    broker = start_kafka(settings=SETTINGS)
    yield broker.address
    broker.stop()


@pytest.fixture(params=["klamm", pytest.param("kafka", marks=pytest.mark.oracle)])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_address"))


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"ct-{uuid4().hex[:12]}"


@pytest.fixture
def make_topic(address: str) -> MakeTopic:
    async def make(partitions: int = 1, **configs: object) -> str:
        """A new topic; underscores in config names stand for dots."""
        topic = f"ct-{uuid4().hex[:12]}"
        async with admin_of(address) as admin:
            values = {key.replace("_", "."): str(value) for key, value in configs.items()}
            await admin.topics.create(
                topic, partitions=partitions, replication_factor=1, configs=values
            )
            # The real Kafka answers before its broker leads the partitions.
            ends = {TopicPartition(topic, index): LATEST for index in range(partitions)}
            await admin.records.list_offsets(ends)
        return topic

    return make


@asynccontextmanager
async def admin_of(address: str) -> AsyncIterator[Admin]:
    async with Admin(address) as admin:
        yield admin
