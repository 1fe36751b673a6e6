"""A node with an authorizer, and all the users of the trials."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from server.asking import Topic
from server.authorization.people import SECURED, log_in
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.guarded.stage import SETTINGS, SecuredStage


@pytest.fixture(scope="session")
def secured_node() -> Iterator[RunningNode]:
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="klamm-test-", dir=in_memory) as directory,
        RunningNode(Path(directory) / "data", SETTINGS) as node,
    ):
        yield node


@pytest.fixture(scope="session")
def stage(secured_node: RunningNode) -> SecuredStage:
    return SecuredStage(secured_node.address)


@pytest.fixture(scope="session")
def people_node() -> Iterator[RunningNode]:
    """Of which tests make the rules themselves."""
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="klamm-test-", dir=in_memory) as directory,
        RunningNode(Path(directory) / "data", SECURED) as node,
    ):
        with WireClient(node.address) as client:
            log_in(client, "admin")
            for kind in (0, 1):
                client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"]))
        yield node


@pytest.fixture
def person(people_node: RunningNode) -> Iterator[Callable[[str], WireClient]]:
    """Connects as a user."""
    opened: list[WireClient] = []

    def connect(user: str) -> WireClient:
        opened.append(WireClient(people_node.address))
        return log_in(opened[-1], user)

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def admin(person: Callable[[str], WireClient]) -> WireClient:
    return person("admin")


@pytest.fixture
def ann(person: Callable[[str], WireClient]) -> WireClient:
    return person("ann")


@pytest.fixture
def topic(admin: WireClient, new_name: str) -> Topic:
    """That nobody but the administrator may use yet."""
    wanted = CreatableTopic(name=new_name, num_partitions=1, replication_factor=1)
    (made,) = admin.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)).topics
    assert made.error_code == 0, made
    return Topic(new_name, made.topic_id)
