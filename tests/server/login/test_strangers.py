"""There are only so many places for those who do not say who they are."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from klamm.protocol.messages.metadata import MetadataRequest
from klamm.security.sasl.plain import PlainClient
from klamm.server.login import logins
from klamm.server.login.strangers import Strangers
from server.login.logging_in import log_in, secured
from server.running_node import RunningNode
from server.wire_client import WireClient


def test_whoever_logs_in_gets_in_however_many_strangers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "Strangers", lambda: Strangers(most=5))
    with RunningNode(tmp_path, secured()) as node, ExitStack() as stack:
        host, port = node.address.split(":")
        before = stack.enter_context(WireClient(node.address))
        log_in(before, PlainClient("admin", "a secret"))
        crowd = [
            stack.enter_context(socket.create_connection((host, int(port)), 20)) for _ in range(20)
        ]
        for each in crowd[:15]:
            # The oldest were shown the door.
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""

        with WireClient(node.address) as client:
            assert log_in(client, PlainClient("ann", "another")).error_code == 0
            assert client.ask(MetadataRequest(topics=None)).brokers
        assert before.ask(MetadataRequest(topics=None)).brokers
