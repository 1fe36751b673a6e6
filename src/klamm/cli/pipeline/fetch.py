"""`klamm pipeline fetch`: brings the jars that Spark needs, and shows how far that is: a bar on a terminal, a line per jar elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from klamm.cli.connect import Output
from klamm.cli.output import CommandError, Row, notice, show
from klamm.cli.pipeline.units import size
from klamm.pipeline.jars import (
    LOCK,
    Jar,
    JarError,
    Progress,
    Watcher,
    cache_directory,
    ensure,
    mirror_address,
    missing,
)


def fetch(output: Output = None) -> None:
    """Bring all the jars that Spark may need.

    For images, and before the network is gone: a run brings what it lacks by itself.
    """
    show(rows_of(LOCK, bring(LOCK)), output)


def bring(jars: Sequence[Jar], *, quiet: bool = False) -> list[Path]:
    """The verified files. Says nothing when they are all here."""
    absent = missing(jars, cache=cache_directory())
    try:
        if not absent or quiet:
            return ensure(jars)
        total = size(sum(jar.size for jar in absent))
        notice(f"fetching {len(absent)} jars ({total}) for Spark from {mirror_address()}, once")
        with _bar() if sys.stderr.isatty() else _lines() as watch:
            return ensure(jars, watch=watch)
    except JarError as error:
        raise CommandError("the jars for Spark are not complete", why=str(error)) from error


def rows_of(jars: Sequence[Jar], files: Sequence[Path]) -> list[Row]:
    return [
        {"jar": jar.coordinate, "for": jar.use.value, "size": size(jar.size), "file": str(file)}
        for jar, file in zip(jars, files, strict=True)
    ]


@contextmanager
def _bar() -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bar(*columns, TransferSpeedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def watch(progress: Progress) -> None:
            bar.update(
                task,
                description=progress.jar.name,
                completed=progress.done_bytes,
                total=progress.total_bytes,
            )

        yield watch


@contextmanager
def _lines() -> Iterator[Watcher]:
    last: Jar | None = None

    def watch(progress: Progress) -> None:
        nonlocal last
        if progress.jar != last:
            last = progress.jar
            done = 100 * progress.done_bytes // max(1, progress.total_bytes)
            notice(f"  {progress.jar.coordinate} ({size(progress.jar.size)}), {done}% of all")

    yield watch
