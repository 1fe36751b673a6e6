"""A node that asks everybody for a name."""

from collections.abc import Iterator

import pytest

from server.login.logging_in import secured
from server.running_node import RunningNode


@pytest.fixture(scope="module")
def secured_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("secured"), secured()) as node:
        yield node
