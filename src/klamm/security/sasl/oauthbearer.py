"""OAUTHBEARER (RFC 7628): a signed token (JWT) that says who somebody is and until when.

A token that does not hold is answered with a reason in JSON; the client says that it has heard it, and only then the login
has failed. Tokens without a signature, which Kafka takes unless told otherwise, are never taken here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from klamm.base.clock import Ms
from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl.exchange import USER, LoginRefused

# The first part named auth is the one, and no other place is tried: a stranger's message is read once, however long it is.
_INITIAL = re.compile(
    rb"[ny],(?:a=(?P<authorization>[^,\x01]*))?,\x01"
    rb"(?:(?!auth=)[A-Za-z]+=[^\x01]*\x01)*auth=[Bb]earer (?P<token>[A-Za-z0-9\-._~+/]+=*)\x01"
    rb"(?:[A-Za-z]+=[^\x01]*\x01)*\x01"
)
_HEARD = b"\x01"


class Claims(NamedTuple):
    user: str
    expires_at: Ms


# LoginRefused: the token does not hold.
Validate = Callable[[str], Claims]


class OAuthBearerServer:
    is_slow = False

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._failure: LoginRefused | None = None
        self.is_done = False
        self.principal = KafkaPrincipal(USER, "")
        self.expires_at: Ms | None = None

    def step(self, token: bytes) -> bytes:
        if self._failure is not None:
            raise self._failure
        match = _INITIAL.fullmatch(token)
        if match is None:
            raise LoginRefused("its OAUTHBEARER message is malformed")
        try:
            claims = self._validate(match["token"].decode())
        except LoginRefused as e:
            reason = json.dumps({"status": "invalid_token"}, separators=(",", ":"))
            self._failure = LoginRefused(str(e), reason)
            return reason.encode()
        if (
            match["authorization"]
            and match["authorization"].decode("utf-8", "replace") != claims.user
        ):
            raise LoginRefused(f"it asked for another name than its own: user={claims.user!r}")
        self.principal = KafkaPrincipal(USER, claims.user)
        self.expires_at = claims.expires_at
        self.is_done = True
        return b""


class OAuthBearerClient:
    mechanism = "OAUTHBEARER"

    def __init__(self, token: str) -> None:
        self._token = token

    def first(self) -> bytes:
        return b"n,,\x01auth=Bearer " + self._token.encode() + b"\x01\x01"

    def step(self, challenge: bytes) -> bytes | None:
        return _HEARD if challenge else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRules:
    """What a token must say, beside being signed."""

    issuer: str | None = None
    audiences: Sequence[str] = ()
    scope_claim: str = "scope"
    user_claim: str = "sub"
    # How far the clocks of the two sides may be apart.
    skew_ms: Ms = 30_000

    def read(self, claims: Mapping[str, Any], now: Ms) -> Claims:
        """LoginRefused: which rule is broken."""
        expires_at = _time(claims, "exp")
        if expires_at is None:
            raise LoginRefused("its token says nothing of its end")
        if expires_at + self.skew_ms <= now:
            raise LoginRefused("its token has expired")
        for name in ("nbf", "iat"):
            begins = _time(claims, name)
            if begins is not None and begins - self.skew_ms > now:
                raise LoginRefused(f"its token holds only later ({name})")
        self._check_origin(claims)
        user = claims.get(self.user_claim)
        if not isinstance(user, str) or not user.strip():
            raise LoginRefused(f"its token names nobody in {self.user_claim}")
        return Claims(user.strip(), expires_at)

    def _check_origin(self, claims: Mapping[str, Any]) -> None:
        if self.issuer is not None and claims.get("iss") != self.issuer:
            raise LoginRefused(f"its token comes from {claims.get('iss')!r}")
        if self.audiences:
            meant_for = claims.get("aud")
            named = meant_for if isinstance(meant_for, list) else [meant_for]
            if not any(each in self.audiences for each in named if isinstance(each, str)):
                raise LoginRefused(f"its token is meant for {meant_for!r}")
        scope = claims.get(self.scope_claim)
        if scope is not None and not isinstance(scope, str | list):
            raise LoginRefused("the scope of its token is no text")


def _time(claims: Mapping[str, Any], name: str) -> Ms | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 40:
        raise LoginRefused(f"the {name} of its token is no time")
    return int(value * 1000)
