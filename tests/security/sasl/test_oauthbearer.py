"""Tokens: which ones hold, and what becomes of the others."""

import json
import time
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from klamm.security.sasl.exchange import LoginRefused
from klamm.security.sasl.oauthbearer import ClaimRules, OAuthBearerClient, OAuthBearerServer
from klamm.security.sasl.signing_keys import SigningKeys, UnknownKey

NOW = 1_800_000_000_000
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public(key: Any, kid: str, **more: str) -> dict[str, Any]:
    algorithm = jwt.algorithms.ECAlgorithm if key is EC else jwt.algorithms.RSAAlgorithm
    described = algorithm.to_jwk(key.public_key(), as_dict=True)
    return {**described, "kid": kid, "use": "sig", **more}


KEYS = SigningKeys(
    json.dumps(
        {"keys": [public(RSA, "one", alg="RS256"), public(EC, "two"), {"kty": "new"}]}
    ).encode()
)


def signed(claims: dict[str, Any], key: Any = RSA, alg: str = "RS256", kid: str = "one") -> str:
    return jwt.encode(claims, key, alg, {"kid": kid})


def said(**claims: Any) -> dict[str, Any]:
    return {"sub": "ann", "exp": NOW / 1000 + 60, **claims}


def server(rules: ClaimRules | None = None) -> OAuthBearerServer:
    rules = rules or ClaimRules()
    return OAuthBearerServer(lambda token: rules.read(KEYS.claims(token), NOW))


@pytest.mark.parametrize(("key", "alg", "kid"), [(RSA, "RS256", "one"), (EC, "ES256", "two")])
def test_a_signed_token_names_its_user_and_its_end(key: Any, alg: str, kid: str) -> None:
    login = server()

    assert login.step(OAuthBearerClient(signed(said(), key, alg, kid)).first()) == b""

    assert str(login.principal) == "User:ann"
    assert login.expires_at == NOW + 60_000


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (signed(said(), STRANGER), "InvalidSignature"),
        (signed(said(), RSA, "RS512"), "not signed as it should"),
        (signed(said(), "a secret of the two of us, long enough", "HS256"), "HS256"),
        (jwt.encode(said(), None, "none", {"kid": "one"}), "none"),
        (signed(said(), kid="three"), "which we do not have"),
        (signed(said(exp=NOW / 1000 - 31)), "expired"),
        (signed({"sub": "ann"}), "nothing of its end"),
        (signed(said(exp="tomorrow")), "no time"),
        (signed(said(nbf=NOW / 1000 + 31)), "later"),
        (signed(said(sub="")), "names nobody"),
        (signed(said(sub=["ann"])), "names nobody"),
        ("not.a.token", "not signed"),
    ],
)
def test_what_does_not_hold_is_told_once_and_then_refused(token: str, why: str) -> None:
    login, client = server(), OAuthBearerClient(token)

    answer = login.step(client.first())

    assert answer == b'{"status":"invalid_token"}'
    heard = client.step(answer)
    assert heard == b"\x01"
    with pytest.raises(LoginRefused, match=why):
        login.step(heard)
    assert not login.is_done


@pytest.mark.parametrize(
    ("claims", "holds"),
    [
        ({"iss": "us", "aud": "kafka"}, True),
        ({"iss": "us", "aud": ["web", "kafka"]}, True),
        ({"iss": "them", "aud": "kafka"}, False),
        ({"aud": "kafka"}, False),
        ({"iss": "us", "aud": "web"}, False),
        ({"iss": "us"}, False),
        ({"iss": "us", "aud": "kafka", "scope": 5}, False),
    ],
)
def test_who_made_it_and_for_whom_is_looked_at(claims: dict[str, Any], holds: bool) -> None:
    login = server(ClaimRules(issuer="us", audiences=("kafka",)))

    login.step(OAuthBearerClient(signed(said(**claims))).first())

    assert login.is_done == holds


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic abc\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01",
        b"p=x,,\x01auth=Bearer a.b.c\x01\x01",
    ],
)
def test_what_is_no_token_at_all_is_refused_at_once(message: bytes) -> None:
    with pytest.raises(LoginRefused, match="malformed"):
        server().step(message)


def test_a_token_is_nobody_elses() -> None:
    token = signed(said()).encode()

    with pytest.raises(LoginRefused, match="another name"):
        server().step(b"n,a=bob,\x01auth=Bearer " + token + b"\x01\x01")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"keys": 1}', b'{"keys": []}', b'{"keys": [{"kty": "oct"}]}']
)
def test_keys_that_are_none_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        SigningKeys(text)


def test_a_new_key_is_told_from_a_wrong_one() -> None:
    with pytest.raises(UnknownKey):
        KEYS.claims(signed(said(), kid="three"))


def test_a_long_message_of_a_stranger_is_read_once() -> None:
    """With a choice of places for the token, the time grew with the square of the length: seconds, for 64 KB."""
    begun = time.process_time()

    with pytest.raises(LoginRefused, match="malformed"):
        server().step(b"n,,\x01" + b"auth=Bearer a\x01" * 4600 + b"!")

    assert time.process_time() - begun < 0.2


@pytest.mark.parametrize("part", ["header", "claims"])
def test_a_token_that_is_nested_too_deep_is_refused(part: str) -> None:
    deep = "[" * 40_000
    token = (
        f"{urlsafe_b64encode(deep.encode()).decode().rstrip('=')}.e30.e30"
        if part == "header"
        else jwt.PyJWS().encode(deep.encode(), RSA, "RS256", {"kid": "one"})
    )

    with pytest.raises(LoginRefused, match="not signed as it should"):
        KEYS.claims(token)
