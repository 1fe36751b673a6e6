"""klamm.client at listeners that ask who it is, and that show who they are."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.client import Admin, Security
from klamm.client.backoff import Backoff
from klamm.client.cluster import ClusterSettings
from server.login.logging_in import secured
from server.running_node import RunningNode
from server.tls.conftest import SecureNode
from support.brokers import free_port
from support.tls.certificates import Certificates

LOGIN = {"mechanism": "PLAIN", "username": "admin", "password": "a secret"}


def topics(node: RunningNode, security: Security) -> list[str]:
    """As a client with this security sees them."""

    async def ask() -> list[str]:
        settings = ClusterSettings(
            security=security, api_timeout_ms=5000, retry_backoff=Backoff(10, 20)
        )
        async with Admin(node.address, settings) as admin:
            return list(await admin.topics.list())

    return asyncio.run(ask())


def test_a_client_logs_in(tmp_path: Path) -> None:
    with RunningNode(tmp_path, secured()) as node:
        assert topics(node, Security(protocol="SASL_PLAINTEXT", **LOGIN)) == []


@pytest.mark.parametrize(
    "security",
    [
        Security(protocol="SASL_PLAINTEXT", mechanism="PLAIN", username="ann", password="no"),
        Security(
            protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", username="ann", password="no"
        ),
        Security(protocol="SASL_PLAINTEXT", mechanism="OAUTHBEARER", token="no.such.token"),
    ],
)
def test_a_refused_login_is_told_at_once(tmp_path: Path, security: Security) -> None:
    with RunningNode(tmp_path, secured()) as node, pytest.raises(ApiError) as refused:
        topics(node, security)

    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_client_believes_its_authority_and_nobody_else(
    secure_node: SecureNode, certificates: Certificates
) -> None:
    node = secure_node()

    assert topics(node, Security(protocol="ssl", ca=str(certificates.ca))) == []
    with pytest.raises(ApiError, match="certificate"):
        topics(node, Security(protocol="SSL"))


def test_a_login_goes_over_tls(tmp_path: Path, certificates: Certificates) -> None:
    settings = {
        **secured(),
        "listeners": f"SASL_SSL://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": 'M required user_admin="a secret";',
        **certificates.broker_settings(certificates.issue("server")),
    }
    with RunningNode(tmp_path / "data", settings) as node:
        assert topics(node, Security(protocol="SASL_SSL", ca=str(certificates.ca), **LOGIN)) == []


def test_a_session_that_ends_is_begun_again(tmp_path: Path) -> None:
    with RunningNode(tmp_path, secured(**{"connections.max.reauth.ms": 300})) as node:

        async def ask_for_two_seconds() -> None:
            settings = ClusterSettings(security=Security(protocol="SASL_PLAINTEXT", **LOGIN))
            loop = asyncio.get_running_loop()
            end = loop.time() + 2
            async with Admin(node.address, settings) as admin:
                while loop.time() < end:
                    assert await admin.topics.list() == []

        asyncio.run(ask_for_two_seconds())


def test_properties_of_librdkafka_and_of_java_say_the_same() -> None:
    ours = Security(protocol="SASL_SSL", ca="ca.pem", **LOGIN)

    assert ours == Security.of(
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "admin",
            "sasl.password": "a secret",
            "ssl.ca.location": "ca.pem",
        }
    )
    assert ours == Security.of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": 'PlainLoginModule required username="admin" password="a secret";',
            "ssl.truststore.location": "ca.pem",
            "ssl.truststore.type": "PEM",
        }
    )
    assert "a secret" not in repr(ours)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Security(protocol="TLS"),
        lambda: Security(protocol="SASL_SSL"),
        lambda: Security(protocol="SASL_SSL", mechanism="GSSAPI"),
        lambda: Security(protocol="SASL_SSL", mechanism="PLAIN"),
        lambda: Security(protocol="SASL_SSL", mechanism="OAUTHBEARER"),
        lambda: Security.of({"ssl.truststore.location": "trust.jks"}),
    ],
)
def test_what_cannot_be_done_is_said_when_it_is_asked_for(make: Callable[[], Security]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()
