"""`klamm pipeline init`: a commented pipeline file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.output import CommandError, UsageError, notice
from klamm.cli.pipeline.targets import mistakes
from klamm.pipeline.spec import BadPipeline, starter

DEFAULT_NAME = "my-pipeline"


def init(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Its name.")] = DEFAULT_NAME,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="The file to write [default: NAME.yaml].")
    ] = None,
) -> None:
    """Write a commented pipeline file to start from."""
    file = file or Path(f"{name}.yaml")
    try:
        text = starter(name)
    except BadPipeline as bad:
        raise mistakes(bad) from bad
    try:
        with open(file, "x") as new:
            new.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already", hint="-f with another name") from error
    except OSError as error:
        raise CommandError(f"{file} cannot be written", why=error.strerror or "") from error
    notice(f"wrote {file}; next: klamm pipeline validate {file}, klamm pipeline run {file}")
