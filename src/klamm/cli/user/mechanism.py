"""The option that all commands about users have."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.output import UsageError
from klamm.security.sasl.scram import MECHANISMS, ScramMechanism

Mechanism = Annotated[
    str, typer.Option("--mechanism", "-m", help=f"One of {', '.join(MECHANISMS)}.")
]
DEFAULT = "SCRAM-SHA-256"


def find(name: str) -> ScramMechanism:
    found = MECHANISMS.get(name.upper())
    if found is None:
        raise UsageError(
            f"{name!r} is no mechanism of SCRAM", hint=f"it is one of {', '.join(MECHANISMS)}"
        )
    return found
