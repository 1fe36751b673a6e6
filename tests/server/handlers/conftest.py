"""Coordinators that are there, for tests that ask them."""

import pytest

from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from server.handlers.classic_groups import find_coordinator
from server.handlers.offsets import NO_TOPIC, OK, fetch
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
