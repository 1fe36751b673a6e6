"""How groups are named on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group, by name.")]
Groups = Annotated[list[str], typer.Argument(metavar="GROUP", help="Groups, by name.")]
