"""PrincipalBuilder: the port through which a listener learns who a connection is, from what the transport knows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from klamm.base.principal import KafkaPrincipal


class AuthenticationContext(NamedTuple):
    """What is known of a client when it has come in."""

    listener: str
    host: str
    # Whom the login, or the certificate, has named and proven; ANONYMOUS where nobody is asked for a name.
    principal: KafkaPrincipal


class PrincipalBuilder(Protocol):
    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """ValueError: nobody whom we know. The connection is closed."""
        ...
