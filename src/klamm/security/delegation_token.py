"""Delegation tokens (KIP-48): an id that everybody may know, and an HMAC of it that is the password of SCRAM logins."""

from __future__ import annotations

import hmac
from base64 import b64encode
from functools import lru_cache

from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl.scram import (
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)


def token_hmac(secret: str, token_id: str) -> bytes:
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


@lru_cache(maxsize=1024)
def token_credential(mechanism: ScramMechanism, secret: str, token_id: str) -> ScramCredential:
    """What a login with the token is checked against; kept, since to make it takes milliseconds."""
    mac = token_hmac(secret, token_id)
    salt = hmac.digest(mac, mechanism.name.encode(), "sha256")[:24]
    iterations = mechanism.min_iterations
    salted = salted_password(mechanism, b64encode(mac).decode(), salt, iterations)
    return credential_of(mechanism, salted, salt, iterations)


def parse_principal(text: str) -> KafkaPrincipal:
    """`Type:name`, as the metadata log has it."""
    kind, _, name = text.partition(":")
    return KafkaPrincipal(kind, name)
