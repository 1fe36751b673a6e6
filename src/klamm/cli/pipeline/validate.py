"""`klamm pipeline validate`: what is wrong in pipeline files. No Spark, no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import Output
from klamm.cli.output import Format, Json, Row, UsageError, flush, format_or_default, show, write
from klamm.cli.pipeline.targets import read_text
from klamm.pipeline.spec import BadPipeline, Problem, parse


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Pipeline files.")],
    output: Output = None,
) -> None:
    """Check pipeline files, without Spark.

    Prints every problem with its place; exit code 2 if there is one.
    """
    if not validate_files(files, output):
        raise typer.Exit(2)


def validate_files(files: Sequence[Path], output: Format | None) -> bool:
    """Says what is wrong in each of them; True if nothing is."""
    found = {file: _problems(file) for file in files}
    if format_or_default(output) is Format.JSON:
        show((_row(file, problems) for file, problems in found.items()), Format.JSON)
    else:
        for file, problems in found.items():
            lines = BadPipeline(str(file), problems).lines() if problems else [f"{file}: ok"]
            write("".join(f"{line}\n" for line in lines).encode())
        flush()
    return not any(found.values())


def _problems(file: Path) -> tuple[Problem, ...]:
    try:
        parse(read_text(file), str(file))
    except UsageError as unreadable:
        why = unreadable.why or unreadable.what
        return (Problem(path="", expected="a file that can be read", found=why),)
    except BadPipeline as bad:
        return bad.problems
    return ()


def _row(file: Path, problems: Sequence[Problem]) -> Row:
    rows: list[Json] = [
        {
            "line": problem.mark.line if problem.mark else None,
            "column": problem.mark.column if problem.mark else None,
            "key": problem.path,
            "expected": problem.expected,
            "found": problem.found,
            "nearest": problem.nearest,
        }
        for problem in problems
    ]
    return {"file": str(file), "valid": not problems, "problems": rows}
