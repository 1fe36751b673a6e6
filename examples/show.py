"""What the examples show: rows as a small table, and whether they are right."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from confluent_kafka import KafkaException
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from examples.stage import Row, Stage, Trouble, a_stage
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.jars import JarError, Progress, Use
from klamm.pipeline.java import JavaMissing
from klamm.pipeline.spec import BadPipeline

SHOWN_ROWS = 10
_PROBLEMS = (Trouble, JarError, JavaMissing, BadPipeline, PipelineFailed, KafkaException)


class Unexpected(Exception):
    """The pipeline's result is not what plain Python makes of the same records."""


def check(what: str, found: Iterable[Row], expected: Iterable[Row]) -> None:
    """Each row as often as it should be there; their order does not matter."""
    missing = [_fingerprint(row) for row in expected]
    surplus = []
    for row in map(_fingerprint, found):
        if row in missing:
            missing.remove(row)
        else:
            surplus.append(row)
    if missing or surplus:
        raise Unexpected(
            f"{what}: {len(missing)} rows are missing and {len(surplus)} should not be there; "
            f"missing {missing[:1]}, surplus {surplus[:1]}"
        )


def _fingerprint(row: Row) -> str:
    # 12.50 is 12.5: JSON does not know how many digits a decimal has.
    return json.dumps(
        row, sort_keys=True, default=lambda v: float(v) if isinstance(v, Decimal) else str(v)
    )


def show_rows(title: str, rows: Sequence[Row], *, most: int = SHOWN_ROWS) -> None:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    for name in rows[0] if rows else ():
        is_number = isinstance(rows[0][name], int | float)
        table.add_column(name, justify="right" if is_number else "left")
    for row in rows[:most]:
        table.add_row(*(_shown(value) for value in row.values()))
    console = Console()
    console.print(f"\n[bold]{escape(title)}[/bold]", highlight=False)
    console.print(table)
    if len(rows) > most:
        console.print(f"... and {len(rows) - most} more", style="dim")


def _shown(value: object) -> str:
    match value:
        case None:
            return "-"
        case datetime():
            return f"{value:%H:%M:%S}"
        case float():
            return f"{value:.1f}"
        case list():
            return " ".join(map(_shown, value))
        case bytes():
            return value.decode(errors="replace")
        case _:
            return str(value)


def play(
    name: str,
    show: Callable[[Stage], None],
    *,
    description: str,
    uses: Sequence[Use] = (Use.TOPICS, Use.ICEBERG),
    arguments: Sequence[str] | None = None,
) -> int:
    """The command of an example: its own broker or another, its own Spark, its result, and whether it is right."""
    parser = argparse.ArgumentParser(prog=f"python -m examples.{name}", description=description)
    parser.add_argument(
        "-b", "--bootstrap", metavar="HOST:PORT", help="any Kafka, instead of a klamm of its own"
    )
    options = parser.parse_args(arguments)
    try:
        with a_stage(name, options.bootstrap, uses=uses, watch=show_download) as stage:
            show(stage)
    except (Unexpected, *_PROBLEMS) as problem:
        print(f"examples.{name}: {problem}", file=sys.stderr)
        return 1
    print("\nThe result is what plain Python computes from the same records.")
    return 0


def show_download(progress: Progress) -> None:
    """The jars come once; later runs find them in the cache."""
    done, total = progress.done_bytes / 1e6, progress.total_bytes / 1e6
    end = "\n" if progress.done_bytes == progress.total_bytes else ""
    line = f"\rfetching {progress.jar.name}: {done:.0f} of {total:.0f} MB"
    print(f"{line:<79}", end=end, file=sys.stderr, flush=True)
