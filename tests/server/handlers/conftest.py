"""Coordinators that are there, and a controller's own listener, for tests that ask them."""

from collections.abc import Iterator

import pytest

from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.security.sasl.plain import PlainClient
from server.handlers.classic_groups import find_coordinator
from server.handlers.offsets import NO_TOPIC, OK, fetch
from server.login.logging_in import log_in, secured
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually


@pytest.fixture
def group_coordinator(client: WireClient) -> None:
    find_coordinator(client)


@pytest.fixture
def group_id(client: WireClient, new_name: str) -> str:
    """A new group, whose coordinator has been looked up and is there."""

    def look() -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[new_name])
        (found,) = client.ask(request, 4).coordinators
        assert found.error_code == 0
        assert fetch(client, new_name, NO_TOPIC, 0)[0] is OK

    eventually(look)
    return new_name


@pytest.fixture(scope="module")
def controller_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """The lone voter of its quorum, which it leads in epoch 1."""
    settings: dict[str, object] = {
        "process.roles": "controller",
        "node.id": 1,
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://127.0.0.1:0",
    }
    with RunningNode(tmp_path_factory.mktemp("controller"), settings) as node:
        yield node


@pytest.fixture
def controller(controller_node: RunningNode) -> Iterator[WireClient]:
    with WireClient(controller_node.address) as client:
        yield client


@pytest.fixture(scope="module")
def token_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """One that gives delegation tokens."""
    settings = secured(**{"delegation.token.secret.key": "what signs tokens"})
    with RunningNode(tmp_path_factory.mktemp("tokens"), settings) as node:
        yield node


@pytest.fixture
def admin(token_node: RunningNode) -> Iterator[WireClient]:
    with WireClient(token_node.address) as client:
        log_in(client, PlainClient("admin", "a secret"))
        yield client


@pytest.fixture
def ann(token_node: RunningNode) -> Iterator[WireClient]:
    with WireClient(token_node.address) as client:
        log_in(client, PlainClient("ann", "another"))
        yield client


@pytest.fixture(scope="module")
def ruled_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """With an authorizer; who comes without a name may do everything."""
    settings: dict[str, object] = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with RunningNode(tmp_path_factory.mktemp("ruled"), settings) as node:
        yield node


@pytest.fixture
def ruler(ruled_node: RunningNode) -> Iterator[WireClient]:
    with WireClient(ruled_node.address) as client:
        yield client
