"""The argument that names a token: its HMAC, which only those have who may use it."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from typing import Annotated

import typer

from klamm.cli.output import UsageError

Hmac = Annotated[str, typer.Argument(help="As `token create` and `token list` show it.")]


def decoded(hmac: str) -> bytes:
    try:
        return b64decode(hmac, validate=True)
    except (Error, ValueError):
        raise UsageError("an HMAC is written in base64") from None
