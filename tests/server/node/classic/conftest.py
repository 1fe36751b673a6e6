"""A node whose classic groups do not wait for more members. KLAMM_TEST_BOOTSTRAP=HOST:PORT asks another Kafka
instead; its group.initial.rebalance.delay.ms must be 0."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.handlers.classic_groups import SETTINGS, find_coordinator
from server.running_node import RunningNode
from server.wire_client import WireClient


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    other = os.environ.get("KLAMM_TEST_BOOTSTRAP")
    if other:
        yield other
        return
    with (
        tempfile.TemporaryDirectory(prefix="klamm-test-") as directory,
        RunningNode(Path(directory) / "data", SETTINGS) as running,
    ):
        yield running.address


@pytest.fixture(autouse=True)
def coordinator(client: WireClient) -> None:
    find_coordinator(client)
