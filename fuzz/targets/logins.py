"""What a stranger says before it has logged in: the messages of every mechanism, tokens, and certificates.

And what an administrator writes for it: logins in JAAS, lists of keys, names of certificates.
"""

import json
import random
from collections.abc import Callable, Sequence
from functools import cache

from fuzz.target import Target
from klamm.base.principal import KafkaPrincipal
from klamm.security.certificate_names import CertificateNames
from klamm.security.jaas import parse_jaas
from klamm.security.sasl.exchange import LoginRefused, SaslServer
from klamm.security.sasl.oauthbearer import ClaimRules, OAuthBearerServer
from klamm.security.sasl.plain import PlainServer, checks_against
from klamm.security.sasl.scram import SHA_256, Account, ScramServer, new_credential
from klamm.security.sasl.signing_keys import SigningKeys

_NOW = 1_800_000_000_000
_ANN = KafkaPrincipal("User", "ann")
_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


@cache
def _account() -> Account:
    return Account(new_credential(SHA_256, "pear", random.Random(1)), _ANN)


@cache
def _keys() -> SigningKeys:
    return SigningKeys(json.dumps({"keys": [_KEY]}).encode())


def _servers() -> list[SaslServer]:
    chance = random.Random(1)
    return [
        PlainServer(checks_against({"ann": "pear"})),
        ScramServer(SHA_256, lambda *_: _account(), chance, b"secret"),
        OAuthBearerServer(lambda token: ClaimRules().read(_keys().claims(token), _NOW)),
    ]


def _log_in(data: bytes) -> None:
    """The first byte chooses the mechanism; a zero and a one between two messages."""
    if not data:
        return
    server = _servers()[data[0] % 3]
    try:
        for message in data[1:].split(b"\0\1"):
            server.step(message)
    except LoginRefused:
        return
    # Nobody gets in without a password; this one is in the seeds.
    assert not server.is_done or server.principal == _ANN


def _refused(read: Callable[[], object]) -> None:
    try:
        read()
    except (ValueError, LoginRefused):
        return


def _administer(data: bytes) -> None:
    if not data:
        return
    kind, rest = data[0] % 3, data[1:]
    text = rest.decode("utf-8", "replace")
    if kind == 0:
        _refused(lambda: parse_jaas(text))
    elif kind == 1:
        _refused(lambda: SigningKeys(rest))
    else:
        _refused(lambda: CertificateNames("DEFAULT").principal_of(rest))


def _messages() -> Sequence[bytes]:
    token = b"eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm4ifQ.c2ln"
    return [
        b"\0\0ann\0pear",
        b"\1n,,n=ann,r=abc\0\1c=biws,r=abc,p=AAAA",
        b"\1n,a=ann,n=a=2Cn,r=abc,tokenauth=true",
        b"\2n,,\1auth=Bearer " + token + b"\1\1",
        b"\2n,a=ann,\1host=h\1auth=Bearer " + token + b"\1\1\0\1\1",
    ]


def _texts() -> Sequence[bytes]:
    return [
        b"\0PlainLoginModule required username=\"ann\" password='p;' user_x=y;",
        b"\1" + json.dumps({"keys": [_KEY, {"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}).encode(),
        b"\2\x30\x82\x01\x0a\x30\x81\xf7",
    ]


LOGINS = Target("logins", _log_in, _messages)
SECURITY_SETTINGS = Target("security-settings", _administer, _texts)
