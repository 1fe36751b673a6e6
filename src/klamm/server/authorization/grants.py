"""Grants: what an authorizer has answered about one connection, kept until the rules or its user change."""

from __future__ import annotations

from klamm.base.principal import KafkaPrincipal
from klamm.security.authorizer import Authorizer, Who
from klamm.server.authorization.rights import Right

# A client that asks for more names than that begins anew.
_MOST = 4096
# No resource has a longer name; whoever asks for one is not to fill the memory with it.
_LONGEST_NAME = 249


class Grants:
    __slots__ = ("_authorizer", "_who", "generation", "known", "principal")

    def __init__(self, authorizer: Authorizer, principal: KafkaPrincipal, host: str) -> None:
        self._authorizer = authorizer
        self._who = Who(principal, host)
        # Of the authorizer, when it said what is known: by the code of the right and the name.
        self.generation = authorizer.generation
        self.known: dict[tuple[int, str], bool] = {}
        # Whoever asks compares: a login may give the connection another one.
        self.principal = principal

    def has(self, right: Right, name: str) -> bool:
        authorizer = self._authorizer
        if self.generation != authorizer.generation:
            self.known.clear()
            self.generation = authorizer.generation
        key = (right.code, name)
        found = self.known.get(key)
        if found is None:
            found = authorizer.authorize(self._who, right.operation, right.resource_type, name)
            if len(self.known) >= _MOST:
                self.known.clear()
            if len(name) <= _LONGEST_NAME:
                self.known[key] = found
        return found
