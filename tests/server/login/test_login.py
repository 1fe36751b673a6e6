"""Logins on a real socket: what a stranger may ask, who gets in, and what the others hear."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.principal import KafkaPrincipal
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from klamm.security.principal_builder import AuthenticationContext
from klamm.security.sasl.plain import PlainClient
from klamm.security.sasl.scram import MECHANISMS, SHA_256, ScramClient, salted_password
from klamm.server.node import CannotStart
from server.login.logging_in import log_in, secured
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient

CHANCE = random.Random(3)
ADMIN = PlainClient("admin", "a secret")
EVERYTHING = MetadataRequest(topics=None)


@pytest.fixture
def stranger(secured_node: RunningNode) -> Iterator[WireClient]:
    with WireClient(secured_node.address) as client:
        yield client


@pytest.fixture
def admin(stranger: WireClient) -> WireClient:
    assert log_in(stranger, ADMIN).error_code == 0
    return stranger


def upsert(client: WireClient, user: str, password: str, **facts: int) -> Any:
    salt = b"salt of a user"
    iterations = facts.get("iterations", 4096)
    mechanism = facts.get("mechanism", SHA_256.number)
    request = AlterUserScramCredentialsRequest(
        upsertions=[
            ScramCredentialUpsertion(
                name=user,
                mechanism=mechanism,
                iterations=iterations,
                salt=salt,
                salted_password=salted_password(SHA_256, password, salt, 4096),
            )
        ]
    )
    (result,) = client.ask(request).results
    return result.error_code


def test_a_stranger_learns_the_versions_and_nothing_else(stranger: WireClient) -> None:
    assert stranger.ask(
        ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3
    )

    with pytest.raises(ConnectionClosed):
        stranger.ask(EVERYTHING)


def test_a_name_and_a_password_open_the_door(stranger: WireClient) -> None:
    answer = log_in(stranger, ADMIN)

    assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
    assert stranger.ask(EVERYTHING).brokers


def test_a_wrong_password_is_told_and_closed(stranger: WireClient) -> None:
    answer = log_in(stranger, PlainClient("admin", "a guess"))

    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    with pytest.raises(ConnectionClosed):
        stranger.ask(EVERYTHING)


def test_an_unknown_mechanism_hears_which_there_are(stranger: WireClient) -> None:
    answer = stranger.ask(SaslHandshakeRequest(mechanism="GSSAPI"))

    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", *MECHANISMS]
    with pytest.raises(ConnectionClosed):
        stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))


def test_tokens_may_come_without_headers(stranger: WireClient) -> None:
    assert stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0).error_code == 0

    stranger.send_frame(ADMIN.first())

    assert stranger.receive_frame() == b""
    assert stranger.ask(EVERYTHING).brokers


def test_a_wrong_password_without_headers_is_closed(stranger: WireClient) -> None:
    stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)

    stranger.send_frame(b"\0admin\0wrong")

    with pytest.raises(ConnectionClosed):
        stranger.receive_frame()


def test_a_large_frame_of_a_stranger_is_refused(stranger: WireClient) -> None:
    stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))

    with pytest.raises((ConnectionClosed, OSError)):
        stranger.ask(SaslAuthenticateRequest(auth_bytes=bytes(100_000)))


def test_a_token_before_the_handshake_is_refused(stranger: WireClient) -> None:
    with pytest.raises(ConnectionClosed):
        stranger.ask(SaslAuthenticateRequest(auth_bytes=ADMIN.first()))


def test_users_of_the_cluster_log_in_by_scram(
    secured_node: RunningNode, admin: WireClient, new_name: str
) -> None:
    assert upsert(admin, new_name, "pear") == 0

    with WireClient(secured_node.address) as client:
        log_in(client, ScramClient(SHA_256, new_name, "pear", CHANCE))
        assert client.ask(EVERYTHING).brokers


@pytest.mark.parametrize("password", ["apple", ""])
def test_scram_says_no_more_than_that_it_failed(
    secured_node: RunningNode, admin: WireClient, new_name: str, password: str
) -> None:
    upsert(admin, new_name, "pear")

    for user in (new_name, "nobody"):
        with WireClient(secured_node.address) as client:
            answer = log_in(client, ScramClient(SHA_256, user, password, CHANCE))

        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == (
            "Authentication failed during authentication due to invalid credentials "
            "with SASL mechanism SCRAM-SHA-256"
        )


def test_a_deleted_user_is_out(secured_node: RunningNode, admin: WireClient, new_name: str) -> None:
    upsert(admin, new_name, "pear")
    deletion = ScramCredentialDeletion(name=new_name, mechanism=SHA_256.number)
    (result,) = admin.ask(AlterUserScramCredentialsRequest(deletions=[deletion])).results
    assert result.error_code == 0

    with WireClient(secured_node.address) as client:
        answer = log_in(client, ScramClient(SHA_256, new_name, "pear", CHANCE))
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_session_that_ends_asks_for_another_login(tmp_path: Path) -> None:
    settings = secured(**{"connections.max.reauth.ms": 1500})
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        assert log_in(client, ADMIN).session_lifetime_ms == 1500
        assert client.ask(SaslHandshakeRequest(mechanism="PLAIN")).error_code == (
            ErrorCode.ILLEGAL_SASL_STATE
        ), "less than a second after the last one"
        with pytest.raises(ConnectionClosed):
            while True:
                client.ask(EVERYTHING)


def test_a_client_that_logs_in_again_goes_on(tmp_path: Path) -> None:
    settings = secured(**{"connections.max.reauth.ms": 1500})
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        log_in(client, ADMIN)
        while client.ask(SaslHandshakeRequest(mechanism="PLAIN")).error_code:
            client.ask(EVERYTHING)
        answer = client.ask(SaslAuthenticateRequest(auth_bytes=ADMIN.first()))

        assert (answer.error_code, answer.session_lifetime_ms) == (0, 1500)
        assert client.ask(EVERYTHING).brokers


def test_nobody_becomes_somebody_else(tmp_path: Path) -> None:
    with RunningNode(tmp_path, secured()) as node, WireClient(node.address) as client:
        log_in(client, ADMIN)
        while client.ask(SaslHandshakeRequest(mechanism="PLAIN")).error_code:
            pass
        answer = client.ask(
            SaslAuthenticateRequest(auth_bytes=PlainClient("ann", "another").first())
        )

        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == (
            "Cannot change principals during re-authentication from User.admin: User.ann"
        )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "klamm knows OAUTHBEARER"),
        (
            {"listener.name.sasl_plaintext.plain.sasl.jaas.config": "Module required a=b;"},
            "PLAIN needs users",
        ),
        (
            {"listener.name.sasl_plaintext.plain.sasl.jaas.config": "Module secret"},
            "a login is written as",
        ),
        (
            {"listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class": "a.B"},
            "package.module:function",
        ),
    ],
)
def test_a_listener_that_could_not_check_logins_does_not_open(
    tmp_path: Path, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(CannotStart, match=sentence) as refused:
        RunningNode(tmp_path, secured(**settings))

    assert "secret" not in str(refused.value)


def check_password(user: str, password: str) -> bool:
    """What a callback of the settings looks like."""
    return (user, password) == ("cat", "fish")


def test_passwords_can_be_checked_by_a_function(tmp_path: Path) -> None:
    key = "listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class"
    with RunningNode(tmp_path, secured(**{key: f"{__name__}:check_password"})) as node:
        with WireClient(node.address) as client:
            assert log_in(client, PlainClient("cat", "fish")).error_code == 0
        with WireClient(node.address) as client:
            assert log_in(client, ADMIN).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_credentials_are_described_and_never_shown(admin: WireClient, new_name: str) -> None:
    upsert(admin, new_name, "pear", iterations=5000)

    everybody = admin.ask(DescribeUserScramCredentialsRequest(users=None))

    (mine,) = [each for each in everybody.results if each.user == new_name]
    assert [(each.mechanism, each.iterations) for each in mine.credential_infos] == [(1, 5000)]


class OnlyAnn:
    """A principal builder that knows one user, and breaks over another."""

    def __init__(self, configs: object) -> None:
        pass

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        if context.principal.name == "admin":
            raise ValueError("there is no such user here")
        return KafkaPrincipal("User", {"ann": "known"}[context.principal.name])


def test_a_user_whom_the_principal_builder_does_not_know_is_refused(tmp_path: Path) -> None:
    with RunningNode(
        tmp_path, secured(**{"principal.builder.class": f"{__name__}:OnlyAnn"})
    ) as node:
        with WireClient(node.address) as client:
            answer = log_in(client, ADMIN)
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            with pytest.raises(ConnectionClosed):
                client.ask(EVERYTHING)
        with WireClient(node.address) as client:
            client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
            client.send_frame(ADMIN.first())
            with pytest.raises(ConnectionClosed):
                client.receive_frame()
        with WireClient(node.address) as client:
            assert log_in(client, PlainClient("ann", "another")).error_code == 0
            assert client.ask(EVERYTHING).brokers


def broken_check(user: str, password: str) -> bool:
    raise LookupError(user)


def test_a_check_that_breaks_lets_nobody_in_and_leaves_nobody_waiting(tmp_path: Path) -> None:
    key = "listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class"
    with RunningNode(tmp_path, secured(**{key: f"{__name__}:broken_check"})) as node:
        with WireClient(node.address) as client:
            assert log_in(client, ADMIN).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            with pytest.raises(ConnectionClosed):
                client.ask(SaslAuthenticateRequest(auth_bytes=ADMIN.first()))
        with WireClient(node.address) as client:
            client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
            client.send_frame(ADMIN.first())
            with pytest.raises(ConnectionClosed):
                client.receive_frame()


def test_a_long_name_of_a_stranger_is_not_logged_in_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RunningNode(tmp_path, secured()) as node, WireClient(node.address) as stranger:
        log_in(stranger, PlainClient("x" * 60_000, "a guess"))

    (line,) = [text for each in caplog.records if "refused a login" in (text := each.getMessage())]
    assert len(line) < 1000
