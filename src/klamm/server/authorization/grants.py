"""Grants: what an authorizer has answered about one connection, kept until the rules or its user change."""

from __future__ import annotations

from klamm.base.principal import KafkaPrincipal
from klamm.security.authorizer import Authorizer, Who
from klamm.server.authorization.rights import Right

# A client that asks for more names than that begins anew.
_MOST = 4096


class Grants:
    __slots__ = ("_authorizer", "_generation", "_known", "_who", "principal")

    def __init__(self, authorizer: Authorizer, principal: KafkaPrincipal, host: str) -> None:
        self._authorizer = authorizer
        self._generation = authorizer.generation
        self._who = Who(principal, host)
        self._known: dict[tuple[int, str], bool] = {}
        # Whoever asks compares: a login may give the connection another one.
        self.principal = principal

    def has(self, right: Right, name: str) -> bool:
        authorizer = self._authorizer
        if self._generation != authorizer.generation:
            self._known.clear()
            self._generation = authorizer.generation
        key = (right.code, name)
        found = self._known.get(key)
        if found is None:
            found = authorizer.authorize(self._who, right.operation, right.resource_type, name)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = found
        return found
