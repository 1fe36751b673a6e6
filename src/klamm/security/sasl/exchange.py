"""What the mechanisms have in common: an exchange of tokens that ends with a user, or with a refusal."""

from __future__ import annotations

from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.principal import KafkaPrincipal

USER = "User"


class LoginRefused(Exception):
    """The login failed. `told` is what the client hears, where the mechanism has more to say than "invalid credentials".

    The text of the exception itself is for the log: it names no secret, but more than a stranger need know.
    """

    def __init__(self, why: str, told: str | None = None) -> None:
        super().__init__(why)
        self.told = told


class SaslServer(Protocol):
    """The broker's side of one login."""

    @property
    def is_done(self) -> bool: ...

    @property
    def principal(self) -> KafkaPrincipal:
        """Who it is, once it is done."""
        ...

    @property
    def expires_at(self) -> Ms | None:
        """When what was shown ends by itself (wall time): a token's life. None: it does not."""
        ...

    @property
    def is_slow(self) -> bool:
        """Whether a step may take long, and should not be done on the loop."""
        ...

    def step(self, token: bytes) -> bytes:
        """The next token of the client; the answer to it. LoginRefused ends it."""
        ...


class SaslClient(Protocol):
    """The other side: a node that logs in at another, or klamm's own client."""

    @property
    def mechanism(self) -> str: ...

    def first(self) -> bytes: ...

    def step(self, challenge: bytes) -> bytes | None:
        """The answer to what the server said. None: all is said. LoginRefused: it is not who it should be."""
        ...
