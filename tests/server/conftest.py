"""One node for all tests of this folder that only talk to it; each test has topics of its own.

KLAMM_TEST_BOOTSTRAP=HOST:PORT asks another Kafka instead. That is how the expectations were checked against the real
one (with group.initial.rebalance.delay.ms=0); tests that look inside the node are skipped then.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest

from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from server.asking import Topic
from server.running_node import RunningNode
from server.transacting import Speaker
from server.wire_client import WireClient
from support.patience import eventually

Connect = Callable[[], WireClient]

SETTINGS: dict[str, object] = {
    # Tests write records of a fixed time, which is longer ago than records are kept by default: the first round of
    # retention, half a minute after the start, would delete them.
    "log.initial.task.delay.ms": 86_400_000,
    # Groups do not wait for more members.
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.assignment.interval.ms": 0,
}


class MakeTopic(Protocol):
    def __call__(self, partitions: int = 1, **configs: object) -> Topic: ...


@pytest.fixture(scope="session")
def node() -> Iterator[RunningNode]:
    """The node itself, for tests that look inside. Its files are in memory, where syncing costs nothing."""
    if os.environ.get("KLAMM_TEST_BOOTSTRAP"):
        pytest.skip("looks inside the node, and the broker under test is another process")
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="klamm-test-", dir=in_memory) as directory,
        RunningNode(Path(directory) / "data", SETTINGS) as running,
    ):
        yield running


@pytest.fixture(scope="session")
def address(request: pytest.FixtureRequest) -> str:
    other = os.environ.get("KLAMM_TEST_BOOTSTRAP")
    return other or str(request.getfixturevalue("node").address)


@pytest.fixture
def connect(address: str) -> Iterator[Connect]:
    """Opens connections that are closed after the test."""
    opened: list[WireClient] = []

    def open_one() -> WireClient:
        opened.append(WireClient(address))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Connect) -> WireClient:
    return connect()


@pytest.fixture
def until_parked(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Waits until a fetch waits."""
    if os.environ.get("KLAMM_TEST_BOOTSTRAP"):
        return lambda: time.sleep(0.3)
    node: RunningNode = request.getfixturevalue("node")

    def look() -> None:
        assert node.call(lambda: len(node.node.broker.fetches)) == 1

    return lambda: eventually(look)


@pytest.fixture
def speaker(client: WireClient) -> Speaker:
    """A transactional id that has its producer."""
    speaker = Speaker(client)
    speaker.init()
    return speaker


@pytest.fixture
def new_name() -> str:
    return f"st-{uuid4().hex[:12]}"


@pytest.fixture
def make_topic(client: WireClient) -> Iterator[MakeTopic]:
    """Makes topics that are gone after the test. Underscores in config names stand for dots."""
    made: list[str] = []

    def make(partitions: int = 1, **configs: object) -> Topic:
        name = f"st-{uuid4().hex[:12]}"
        made.append(name)
        return create_topic(client, name, partitions, **configs)

    yield make
    if made:
        gone = [DeleteTopicState(name=name) for name in made]
        client.ask(DeleteTopicsRequest(topics=gone, timeout_ms=10_000))


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A new topic of one partition."""
    return make_topic()


def create_topic(client: WireClient, name: str, partitions: int = 1, **configs: object) -> Topic:
    wanted = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
            for key, value in configs.items()
        ],
    )
    (made,) = client.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)).topics
    assert made.error_code == 0, made
    wait_for_leaders(client, name, partitions)
    return Topic(name, made.topic_id)


def delete_topic(client: WireClient, topic: Topic) -> None:
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=10_000)
    (answer,) = client.ask(gone).responses
    assert answer.error_code == 0, answer


def set_config(client: WireClient, topic: Topic, name: str, value: str | None) -> None:
    """Changes one setting of a topic; None gives it its default back."""
    change = AlterableConfig(
        name=name.replace("_", "."), value=value, config_operation=1 if value is None else 0
    )
    resource = AlterConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name=topic.name, configs=[change]
    )
    (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource])).responses
    assert answer.error_code == 0, answer


def wait_for_leaders(client: WireClient, name: str, partitions: int) -> None:
    """The real Kafka answers before its brokers lead the partitions; klamm never needs the second look."""
    asked = [ListOffsetsPartition(partition_index=index) for index in range(partitions)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=name, partitions=asked)])

    def look() -> None:
        (found,) = client.ask(request).topics
        assert all(partition.error_code == 0 for partition in found.partitions)

    eventually(look)
