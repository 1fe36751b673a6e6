"""KafkaPrincipal: who somebody is, once a listener has found out."""

from __future__ import annotations

from typing import NamedTuple


class KafkaPrincipal(NamedTuple):
    type: str
    name: str
    # Logged in with a delegation token: such a client may not ask for further tokens.
    is_token: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


# Who comes over a listener that asks nobody for a name.
ANONYMOUS = KafkaPrincipal("User", "ANONYMOUS")
