"""The keys of whoever issues tokens (JWKS), and whether a token was signed with one of them.

Only signatures with a pair of keys are taken: with a shared secret, whoever can check a token could make one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from klamm.security.sasl.exchange import LoginRefused

_MAX_KEYS = 100
# What a key may have signed that does not say so itself.
_OF_KIND = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
_ALGORITHMS = tuple(name for names in _OF_KIND.values() for name in names)


class UnknownKey(LoginRefused):
    """Signed with a key that we do not have: there may be a newer list."""


class SigningKeys:
    def __init__(self, text: bytes) -> None:
        """A JSON Web Key Set. ValueError: it is none, or has no key that could be used."""
        # Loaded here: a node without such logins has no use for it.
        import jwt

        self._jws = jwt.PyJWS(algorithms=list(_ALGORITHMS))
        self._invalid = jwt.InvalidTokenError
        # By id: the key, and what it may have signed with.
        self._keys: dict[str | None, tuple[Any, Sequence[str]]] = {}
        try:
            described = json.loads(text)["keys"][:_MAX_KEYS]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError("it is no JSON Web Key Set") from None
        for each in described:
            try:
                key = jwt.PyJWK.from_dict(each)
            except (jwt.PyJWTError, ValueError, TypeError, AttributeError, LookupError):
                # Of a kind that we do not know, as the standard wants it: left out.
                continue
            if each.get("use", "sig") == "sig" and key.algorithm_name in _ALGORITHMS:
                allowed = [each["alg"]] if "alg" in each else _OF_KIND[each["kty"]]
                self._keys[key.key_id] = (key.key, allowed)
        if not self._keys:
            raise ValueError("it has no public key for signatures")

    def claims(self, token: str) -> Mapping[str, Any]:
        """What a token says, if it is signed by one of the keys."""
        try:
            header = self._jws.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            if algorithm not in _ALGORITHMS:
                raise LoginRefused(f"its token is signed with {algorithm!r}")
            key, allowed = self._key(key_id)
            claims = json.loads(self._jws.decode(token, key, algorithms=list(allowed)))
        except (self._invalid, ValueError, RecursionError) as e:
            raise LoginRefused(
                f"its token is not signed as it should be: {type(e).__name__}"
            ) from None
        if not isinstance(claims, dict):
            raise LoginRefused("its token says nothing")
        return claims

    def _key(self, key_id: str | None) -> tuple[Any, Sequence[str]]:
        if key_id in self._keys:
            return self._keys[key_id]
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        raise UnknownKey(f"its token is signed with the key {key_id!r}, which we do not have")
