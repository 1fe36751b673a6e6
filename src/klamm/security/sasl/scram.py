"""SCRAM (RFC 5802, 7677): the password is never sent, and what is stored cannot log in. SHA-256 and SHA-512.

Kafka adds one extension: `tokenauth=true`, a login with a delegation token whose id is the user name.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from klamm.base.chance import Chance
from klamm.base.clock import Ms
from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl.exchange import USER, LoginRefused


class ScramMechanism(NamedTuple):
    name: str
    # Kafka's number of it, in requests and in the metadata log.
    number: int
    hash: str
    min_iterations: int = 4096
    max_iterations: int = 16_384


SHA_256 = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SHA_512 = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
MECHANISMS = {each.name: each for each in (SHA_256, SHA_512)}
BY_NUMBER = {each.number: each for each in MECHANISMS.values()}

_NONCE_BYTES = 24
# Eight times what a broker takes. It is the server that names the number, and the client that has to count.
_MOST_ITERATIONS = 131_072
_GS2_HEADER = "n,,"
_NAME = r"(?:[^=,\x00]|=2C|=3D)+"
_VALUE = r"[^,\x00]+"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization>{_NAME}))?,"
    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*))"
)
_SERVER_FIRST = re.compile(
    rf"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>[0-9]{{1,7}})"
    rf"(?:,[A-Za-z]={_VALUE})*"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]*),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]={_VALUE})*)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)


@dataclass(frozen=True, slots=True)
class ScramCredential:
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


class Account(NamedTuple):
    """Who a name stands for: its credential and, of a delegation token, owner and end."""

    credential: ScramCredential
    principal: KafkaPrincipal
    expires_at: Ms | None = None


# By name, and whether it is a delegation token's id. None: nobody.
FindAccount = Callable[[str, bool], Account | None]


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.hash, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    client_key = _mac(mechanism, salted, b"Client Key")
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.hash, client_key).digest(),
        server_key=_mac(mechanism, salted, b"Server Key"),
        iterations=iterations,
    )


def new_credential(
    mechanism: ScramMechanism, password: str, chance: Chance, iterations: int | None = None
) -> ScramCredential:
    salt = chance.randbytes(_NONCE_BYTES)
    iterations = iterations or mechanism.min_iterations
    return credential_of(
        mechanism, salted_password(mechanism, password, salt, iterations), salt, iterations
    )


class ScramServer:
    is_slow = False

    def __init__(
        self, mechanism: ScramMechanism, find: FindAccount, chance: Chance, secret: bytes
    ) -> None:
        """`secret`: what the salts of those who do not exist are made of, always the same ones."""
        self._mechanism = mechanism
        self._find = find
        self._secret = secret
        self._chance = chance
        self._account: Account | None = None
        self._user = ""
        self._binding = ""
        self._nonce = ""
        self._messages = ""
        self.is_done = False
        self.principal = KafkaPrincipal(USER, "")
        self.expires_at: Ms | None = None

    def step(self, token: bytes) -> bytes:
        message = _text(token)
        return (self._final(message) if self._nonce else self._first(message)).encode()

    def _first(self, message: str) -> str:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise LoginRefused("its first SCRAM message is malformed")
        self._user = match["user"].replace("=2C", ",").replace("=3D", "=")
        if match["authorization"] and match["authorization"] != match["user"]:
            raise LoginRefused("it asked for another name than its own")
        is_token = "tokenauth=true" in match["extensions"].lower().split(",")
        account = self._account = self._find(self._user, is_token)
        if account is not None and account.credential.iterations < self._mechanism.min_iterations:
            raise LoginRefused(f"the credential of {self._user!r} has too few iterations")
        credential = account.credential if account is not None else self._decoy()
        self._binding = b64encode(message[: match.start("bare")].encode()).decode()
        self._nonce = match["nonce"] + _nonce(self._chance)
        reply = f"r={self._nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        self._messages = f"{match['bare']},{reply}"
        return reply

    def _decoy(self) -> ScramCredential:
        """Who is not known is asked for a proof, too: names are not to be guessed one by one."""
        salt = _mac(SHA_256, self._secret, self._user.encode())[:_NONCE_BYTES]
        return ScramCredential(salt, b"", b"", self._mechanism.min_iterations)

    def _final(self, message: str) -> str:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None or match["binding"] != self._binding or match["nonce"] != self._nonce:
            raise LoginRefused("its last SCRAM message does not fit the first")
        signed = f"{self._messages},{match['bare']}".encode()
        account = self._account
        if account is None or not self._proves(
            account.credential, _decoded(match["proof"]), signed
        ):
            raise LoginRefused(f"unknown user or wrong password: user={self._user!r}")
        self.principal = account.principal
        self.expires_at = account.expires_at
        self.is_done = True
        signature = _mac(self._mechanism, account.credential.server_key, signed)
        return f"v={b64encode(signature).decode()}"

    def _proves(self, credential: ScramCredential, proof: bytes, signed: bytes) -> bool:
        mechanism = self._mechanism
        client_key = _xor(proof, _mac(mechanism, credential.stored_key, signed))
        shown = hashlib.new(mechanism.hash, client_key).digest()
        return hmac.compare_digest(shown, credential.stored_key)


class ScramClient:
    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        chance: Chance,
        *,
        is_token: bool = False,
    ) -> None:
        self.mechanism = mechanism.name
        self._scram = mechanism
        self._password = password
        self._nonce = _nonce(chance)
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}{',tokenauth=true' if is_token else ''}"
        # What the server must say to have known the password, too.
        self._expected = ""

    def first(self) -> bytes:
        return f"{_GS2_HEADER}{self._bare}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        message = _text(challenge)
        if self._expected:
            if not hmac.compare_digest(challenge, self._expected.encode()):
                raise LoginRefused("the server does not know the password either")
            return None
        match = _SERVER_FIRST.fullmatch(message)
        if match is None or not match["nonce"].startswith(self._nonce):
            raise LoginRefused("the server's SCRAM message is malformed")
        iterations = int(match["iterations"])
        if iterations < self._scram.min_iterations:
            raise LoginRefused(f"the server asks for {iterations} iterations only")
        if iterations > _MOST_ITERATIONS:
            raise LoginRefused(f"the server asks for {iterations} iterations, which is too many")
        salted = salted_password(self._scram, self._password, _decoded(match["salt"]), iterations)
        credential = credential_of(self._scram, salted, b"", iterations)
        bare = f"c={b64encode(_GS2_HEADER.encode()).decode()},r={match['nonce']}"
        signed = f"{self._bare},{message},{bare}".encode()
        proof = _xor(
            _mac(self._scram, salted, b"Client Key"),
            _mac(self._scram, credential.stored_key, signed),
        )
        signature = _mac(self._scram, credential.server_key, signed)
        self._expected = f"v={b64encode(signature).decode()}"
        return f"{bare},p={b64encode(proof).decode()}".encode()


def _nonce(chance: Chance) -> str:
    return b64encode(chance.randbytes(_NONCE_BYTES)).decode().rstrip("=").replace(",", "")


def _mac(mechanism: ScramMechanism, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, mechanism.hash)


def _xor(one: bytes, other: bytes) -> bytes:
    if len(one) != len(other):
        raise LoginRefused("its proof has a wrong length")
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise LoginRefused("its SCRAM message is not UTF-8") from None


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        raise LoginRefused("its SCRAM message is malformed") from None
