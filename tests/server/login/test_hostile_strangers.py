"""What strangers send is theirs to pay for: neither the memory nor the quotas of clients are used up with it."""

import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from klamm.security.sasl.plain import PlainClient
from server.login.logging_in import log_in, secured
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient

ADMIN = PlainClient("admin", "a secret")
VERSIONS = ApiVersionsRequest(client_software_name="a", client_software_version="1")


def test_failed_logins_book_no_more_memory_than_they_bring(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = secured(
        **{
            "socket.request.max.bytes": 4 << 20,
            "queued.max.request.bytes": 8 << 20,
            "connection.failed.authentication.delay.ms": 1000,
        }
    )
    guess = SaslAuthenticateRequest(auth_bytes=PlainClient("admin", "x" * 60_000).first())
    with RunningNode(tmp_path, settings) as node, ExitStack() as stack:
        strangers = [stack.enter_context(WireClient(node.address)) for _ in range(20)]
        for stranger in strangers:
            stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        for stranger in strangers:
            stranger.send(guess)
        for stranger in strangers:
            stranger.receive_frame()

    assert "the memory for requests is used up" not in caplog.text


def test_a_stranger_uses_up_nobodys_quota(tmp_path: Path) -> None:
    entry = AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type="client-id", entity_name=None)],
        ops=[OpData(key="request_percentage", value=1e-6)],
    )
    with RunningNode(tmp_path, secured()) as node:
        with WireClient(node.address) as admin:
            log_in(admin, ADMIN)
            assert not admin.ask(AlterClientQuotasRequest(entries=[entry])).entries[0].error_code
            admin.ask(VERSIONS, 3)
            assert admin.ask(VERSIONS, 3).throttle_time_ms > 0
        with WireClient(node.address) as stranger:
            throttled = [stranger.ask(VERSIONS, 3).throttle_time_ms for _ in range(3)]

    assert throttled == [0, 0, 0]


def test_who_sends_on_while_it_logs_in_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = secured(**{"connection.failed.authentication.delay.ms": 10_000})
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as stranger:
        stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        stranger.send(SaslAuthenticateRequest(auth_bytes=PlainClient("admin", "no").first()))
        with suppress(OSError):
            stranger.send_frame(bytes(1 << 20))
        with pytest.raises((ConnectionClosed, OSError)):
            stranger.receive_frame()

    assert "more than a login" in caplog.text


class SlowDirectory:
    """Whoever checks passwords far away: how many wait for it at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting = self.most = 0
        self.is_crowded = threading.Event()
        self.answers = threading.Event()

    def __call__(self, user: str, password: str) -> bool:
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            if self.waiting >= 4:
                self.is_crowded.set()
        self.answers.wait(30)
        with self.lock:
            self.waiting -= 1
        return True


DIRECTORY = SlowDirectory()


def test_slow_checks_of_passwords_leave_threads_for_others(tmp_path: Path) -> None:
    key = "listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class"
    settings = secured(**{key: f"{__name__}:DIRECTORY"})
    with RunningNode(tmp_path, settings) as node, ExitStack() as stack:
        strangers = [stack.enter_context(WireClient(node.address)) for _ in range(12)]
        for stranger in strangers:
            stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))
            stranger.send(SaslAuthenticateRequest(auth_bytes=ADMIN.first()))
        assert DIRECTORY.is_crowded.wait(30)
        with WireClient(node.address) as other:
            for _ in range(20):
                other.ask(VERSIONS, 3)
        DIRECTORY.answers.set()
        for stranger in strangers:
            stranger.receive_frame()

    assert DIRECTORY.most == 4
