"""The options of commands that look again and again."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.connect import DAY_SECONDS, a_number

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")]
Interval = Annotated[
    float,
    typer.Option(
        "--interval",
        "-i",
        min=0.1,
        max=DAY_SECONDS,
        callback=a_number,
        help="Seconds between two looks.",
    ),
]
