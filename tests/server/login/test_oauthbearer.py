"""A listener that takes tokens: a real client with one, and keys that change while the node runs."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives.asymmetric import rsa

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from klamm.security.sasl.oauthbearer import OAuthBearerClient
from klamm.server.node import CannotStart
from server.login.logging_in import secured
from server.running_node import RunningNode
from server.wire_client import WireClient

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def write_keys(path: Path, *kids: str) -> str:
    public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
    path.write_text(json.dumps({"keys": [{**public, "kid": kid} for kid in kids]}))
    return path.as_uri()


def token(seconds: float = 600, kid: str = "one") -> str:
    return jwt.encode({"sub": "ann", "exp": time.time() + seconds}, KEY, "RS256", {"kid": kid})


def settings(tmp_path: Path, **more: object) -> dict[str, object]:
    return secured(
        **{
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": write_keys(tmp_path / "keys.json", "one"),
            **more,
        }
    )


def ask(client: WireClient, sasl: OAuthBearerClient) -> list[Any]:
    """The answers to the tokens of a login."""
    client.ask(SaslHandshakeRequest(mechanism=sasl.mechanism))
    answers = [client.ask(SaslAuthenticateRequest(auth_bytes=sasl.first()))]
    if (more := sasl.step(bytes(answers[0].auth_bytes))) is not None:
        answers.append(client.ask(SaslAuthenticateRequest(auth_bytes=more)))
    return answers


def test_a_client_with_a_token_is_in(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "data", settings(tmp_path)) as node:
        admin = AdminClient(
            {
                "bootstrap.servers": node.address,
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "OAUTHBEARER",
                "oauth_cb": lambda _: (token(), time.time() + 600),
            }
        )
        # The callback is called in poll.
        admin.poll(10)

        assert admin.list_topics(timeout=20).brokers


def test_a_session_lasts_as_long_as_its_token(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path / "data", settings(tmp_path)) as node,
        WireClient(node.address) as client,
    ):
        (answer,) = ask(client, OAuthBearerClient(token(600)))

        assert 590_000 < answer.session_lifetime_ms <= 600_000


def test_a_token_of_others_is_refused(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path / "data", settings(tmp_path)) as node,
        WireClient(node.address) as client,
    ):
        first, second = ask(client, OAuthBearerClient(token(-600)))

        assert (first.error_code, bytes(first.auth_bytes)) == (0, b'{"status":"invalid_token"}')
        assert second.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert second.error_message == '{"status":"invalid_token"}'


def test_new_keys_are_taken_without_a_restart(tmp_path: Path) -> None:
    more = {"sasl.oauthbearer.jwks.endpoint.refresh.ms": 1}
    with RunningNode(tmp_path / "data", settings(tmp_path, **more)) as node:
        write_keys(tmp_path / "keys.json", "two")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with WireClient(node.address) as client:
                if not bytes(ask(client, OAuthBearerClient(token(kid="two")))[0].auth_bytes):
                    return
        pytest.fail("the new key was never taken")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("file:///nowhere/keys.json", "nowhere"),
        ("http://example.com/keys", "https://host/path"),
        ("keys.json", "https://host/path"),
    ],
)
def test_without_keys_there_is_no_listener(tmp_path: Path, url: str, sentence: str) -> None:
    with pytest.raises(CannotStart, match=sentence):
        RunningNode(
            tmp_path / "data", settings(tmp_path, **{"sasl.oauthbearer.jwks.endpoint.url": url})
        )


def test_tokens_without_signatures_are_not_offered(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="needs the keys"):
        RunningNode(tmp_path, secured(**{"sasl.enabled.mechanisms": "OAUTHBEARER"}))
