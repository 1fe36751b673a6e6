"""Delegation tokens from the first request to the last; the other three of its APIs have their errors beside it."""

import random
from base64 import b64encode
from pathlib import Path
from typing import Any

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.security.sasl.plain import PlainClient
from klamm.security.sasl.scram import SHA_256, ScramClient
from server.login.logging_in import log_in, secured
from server.running_node import RunningNode
from server.wire_client import WireClient

DAY_MS = 86_400_000


def create(client: WireClient, *renewers: str, **more: Any) -> Any:
    named = [CreatableRenewers(principal_type="User", principal_name=each) for each in renewers]
    return client.ask(CreateDelegationTokenRequest(renewers=named, **more))


def test_a_token_is_of_who_asked_and_lasts_a_week_if_renewed(admin: WireClient) -> None:
    token = create(admin)

    assert (token.error_code, token.principal_name) == (0, "admin")
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == DAY_MS
    assert token.max_timestamp_ms - token.issue_timestamp_ms == 7 * DAY_MS
    assert len(token.hmac) == 64


def test_a_token_logs_in_as_its_owner(token_node: RunningNode, admin: WireClient) -> None:
    token = create(admin, max_lifetime_ms=3_600_000)
    password = b64encode(bytes(token.hmac)).decode()

    with WireClient(token_node.address) as client:
        answer = log_in(
            client,
            ScramClient(SHA_256, token.token_id, password, random.Random(), is_token=True),
        )

        assert 0 < answer.session_lifetime_ms <= 3_600_000
        assert client.ask(MetadataRequest(topics=None)).brokers
        assert create(client).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_the_id_alone_is_no_password(token_node: RunningNode, admin: WireClient) -> None:
    token = create(admin)

    with WireClient(token_node.address) as client:
        sasl = ScramClient(SHA_256, token.token_id, token.token_id, random.Random(), is_token=True)
        assert log_in(client, sasl).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_renewers_are_users(admin: WireClient) -> None:
    renewer = CreatableRenewers(principal_type="Group", principal_name="staff")

    answer = admin.ask(CreateDelegationTokenRequest(renewers=[renewer]))

    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_somebody_without_a_name_gets_none(client: WireClient) -> None:
    assert create(client).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_without_a_secret_there_are_no_tokens(tmp_path: Path) -> None:
    with RunningNode(tmp_path, secured()) as node, WireClient(node.address) as client:
        log_in(client, PlainClient("admin", "a secret"))

        assert create(client).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
