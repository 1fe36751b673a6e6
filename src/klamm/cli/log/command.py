"""`klamm log dump` and `klamm log verify`: parse, call, print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from klamm.base.errors import CorruptFrame
from klamm.cli.connect import Output, command_group, run_typer
from klamm.cli.log import files
from klamm.cli.log.dump import dump
from klamm.cli.log.verify import verify
from klamm.cli.output import CommandError, Format, Row, UsageError, format_or_default, show

app = command_group("Dump and verify log files, without a broker. Nothing is changed.")
Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Partition directories; for dump also single files, for verify data directories.",
    ),
]


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "log", arguments)


@app.command("dump")
def dump_command(
    paths: Paths,
    records: Annotated[
        bool, typer.Option("--records", "-r", help="Records, and not just batches.")
    ] = False,
    output: Output = None,
) -> None:
    """Show what stands in segments, indexes, snapshots and checkpoints."""
    shape = format_or_default(output)
    for path in _existing(paths):
        for file in files.files_in(path):
            if not files.is_known(file):
                raise UsageError(
                    f"{file} is not a file of a log",
                    hint=", ".join((*files.SUFFIXES, *files.NAMES)),
                )
            rows = _until_damage(file, records)
            if shape is Format.TABLE:
                show(rows, Format.TABLE, title=f"\n{file}")
            else:
                show(({"file": str(file), **row} for row in rows), Format.JSON)


@app.command("verify")
def verify_command(
    paths: Paths,
    deep: Annotated[
        bool, typer.Option("--deep", "-d", help="Decompress and read every record too.")
    ] = False,
    output: Output = None,
) -> None:
    """Check checksums, offsets, epochs and indexes; exit code 1 if something is wrong."""
    directories = [
        directory for path in _existing(paths) for directory in files.partitions_in(path)
    ]
    reports = [verify(directory, deep=deep) for directory in directories]
    show((report.summary() for report in reports), output)
    problems = [problem for report in reports for problem in report.problems]
    if problems:
        show(problems, output, title="\nProblems")
        torn = all(report.is_torn for report in reports if report.problems)
        raise CommandError(
            f"{len(problems)} problems in {len(directories)} partitions",
            hint="stop the broker before you verify its log; a torn end is cut when the broker starts"
            if torn
            else "no start of the broker repairs this; `klamm log dump --records` shows what can still be read",
        )


def _until_damage(file: Path, records: bool) -> Iterator[Row]:
    try:
        yield from dump(file, records=records)
    except (CorruptFrame, ValueError) as error:
        raise CommandError(f"{file} is damaged", why=str(error), hint="klamm log verify") from error


def _existing(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
        yield path
