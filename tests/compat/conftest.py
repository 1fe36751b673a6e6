"""The broker that foreign clients talk to in these tests.

It is klamm, started once. KLAMM_COMPAT_BOOTSTRAP=host:port takes a broker that runs already instead, and the word
`kafka` starts a real Apache Kafka: that is how these tests are themselves tested.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Protocol
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import Broker, start_kafka, start_klamm
from support.patience import eventually

SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    # Records with old timestamps would fall to the first round of retention, half a minute after the start.
    "log.initial.task.delay.ms": 24 * 3_600_000,
}


class MakeTopic(Protocol):
    def __call__(self, partitions: int = 1, **configs: str) -> str: ...


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker | None]:
    """The broker's process, or None when it is not ours."""
    choice = os.environ.get("KLAMM_COMPAT_BOOTSTRAP")
    if choice and choice != "kafka":
        yield None
        return
    started = start_kafka(settings=SETTINGS) if choice else start_klamm(settings=SETTINGS)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def bootstrap(broker: Broker | None) -> str:
    """host:port of the broker under test."""
    return broker.address if broker else os.environ["KLAMM_COMPAT_BOOTSTRAP"]


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    # It outlives the broker and need not say that it lost it.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


@pytest.fixture
def topic_name() -> str:
    """The name of a topic that does not exist."""
    return f"compat-{uuid4().hex[:12]}"


def wait_for_topic(admin: AdminClient, name: str) -> None:
    """The controller knows it; the broker that clients ask may learn of it a moment later."""

    def look() -> None:
        found = admin.list_topics(name, timeout=20).topics[name]
        assert found.error is None
        assert all(partition.error is None for partition in found.partitions.values())

    eventually(look)


@pytest.fixture
def make_topic(admin: AdminClient, topic_name: str) -> Iterator[MakeTopic]:
    """Makes topics and takes them away after the test. Underscores in config names stand for dots."""
    names: list[str] = []
    numbers = itertools.count()

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"{topic_name}-{next(numbers)}"
        wanted = {key.replace("_", "."): value for key, value in configs.items()}
        admin.create_topics([NewTopic(name, partitions, 1, config=wanted)])[name].result(30)
        names.append(name)
        wait_for_topic(admin, name)
        return name

    yield make
    if names:
        for deletion in admin.delete_topics(names).values():
            deletion.result(30)


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    """A new topic of one partition."""
    return make_topic()
