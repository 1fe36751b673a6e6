"""`klamm pipeline init`, `validate` and `schema`: the pipeline file itself. No Spark, no cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from klamm.cli.output import (
    CommandError,
    Format,
    Json,
    Row,
    UsageError,
    flush,
    format_or_default,
    notice,
    show,
    write,
)
from klamm.cli.pipeline.targets import mistakes, read_text
from klamm.pipeline.spec import BadPipeline, Problem, parse, starter, to_json_schema

DEFAULT_NAME = "my-pipeline"


def write_starter(name: str, file: Path | None) -> None:
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


def schema_text() -> str:
    return json.dumps(to_json_schema(), indent=2, ensure_ascii=False) + "\n"
