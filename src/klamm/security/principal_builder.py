"""PrincipalBuilder: the port through which a listener learns who a connection is, from what the transport knows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from klamm.base.principal import KafkaPrincipal


class AuthenticationContext(NamedTuple):
    """What is known of a client when it has come in. A name stands here only after it was proven."""

    listener: str
    host: str
    # Whom the login, or the certificate, has named; None on a listener that asks nobody for a name.
    principal: KafkaPrincipal | None = None


class PrincipalBuilder(Protocol):
    def build(self, context: AuthenticationContext) -> KafkaPrincipal: ...
