"""Settings of a node that asks everybody for a name, and a login by hand."""

from typing import Any

from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from klamm.security.sasl.exchange import SaslClient
from server.wire_client import WireClient
from support.brokers import free_port

MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
USERS = 'PlainLoginModule required user_admin="a secret" user_ann="another";'


def secured(**settings: object) -> dict[str, object]:
    return {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISMS,
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
        "connection.failed.authentication.delay.ms": 1,
        **settings,
    }


def log_in(client: WireClient, sasl: SaslClient) -> Any:
    """The last answer of the login."""
    assert client.ask(SaslHandshakeRequest(mechanism=sasl.mechanism)).error_code == 0
    token: bytes | None = sasl.first()
    while token is not None:
        answer = client.ask(SaslAuthenticateRequest(auth_bytes=token))
        if answer.error_code:
            return answer
        token = sasl.step(bytes(answer.auth_bytes))
    return answer
