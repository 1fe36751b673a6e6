"""A node with an authorizer, and all the users of the trials."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running_node import RunningNode
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
