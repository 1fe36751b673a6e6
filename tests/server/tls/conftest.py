"""A node with a TLS listener, and certificates around it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.running_node import RunningNode
from support.brokers import free_port
from support.tls.certificates import Certificates

SecureNode = Callable[..., RunningNode]


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def secure_node(tmp_path: Path, certificates: Certificates) -> Iterator[SecureNode]:
    """Starts nodes with one TLS listener for clients and brokers; settings with underscores for dots."""
    with ExitStack() as stack:

        def start(**more: object) -> RunningNode:
            server = certificates.issue("server")
            settings = {
                "listeners": f"SSL://127.0.0.1:{free_port()}",
                "security.inter.broker.protocol": "SSL",
                **certificates.broker_settings(server),
                **{name.replace("_", "."): value for name, value in more.items()},
            }
            return stack.enter_context(RunningNode(tmp_path / "data", settings))

        yield start
