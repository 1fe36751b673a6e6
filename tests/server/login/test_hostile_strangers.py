"""What strangers send is theirs to pay for: neither the memory nor the quotas of clients are used up with it."""

from contextlib import ExitStack
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
from server.wire_client import WireClient

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
