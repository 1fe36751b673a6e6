"""`klamm cluster metadata dump`: every record of the metadata, from files or from a running cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from klamm.base.errors import CorruptFrame
from klamm.cli.cluster.metadata.records import rows_of
from klamm.cli.cluster.metadata.running import fetch_metadata
from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Output, Properties
from klamm.cli.output import CommandError, Row, UsageError, show
from klamm.metadata.snapshot import SUFFIX, parse_name

_LOG = "__cluster_metadata-0"
_SEGMENT = ".log"


def dump(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="A data directory, its __cluster_metadata-0, a snapshot or a segment. Without it a cluster is asked.",
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show the newest snapshot of the metadata and what was written since, record by record. Nothing is changed."""
    if path is None:
        parts = fetch_metadata(bootstrap, properties)
        show((row for source, data in parts for row in _rows(data, source)), output)
    else:
        show((row for file in _files(path) for row in _rows(file.read_bytes(), file.name)), output)


def _rows(data: bytes, source: str) -> Iterator[Row]:
    try:
        yield from rows_of(data, source=source)
    except CorruptFrame as e:
        raise CommandError(
            f"{source} cannot be read to its end", why=str(e), hint="`klamm log verify` tells more"
        ) from None


def _files(path: Path) -> list[Path]:
    """The newest snapshot, and the segments that go on behind it."""
    if path.is_file():
        if path.suffix not in (SUFFIX, _SEGMENT):
            raise UsageError(
                f"{path} is no snapshot and no segment", hint=f"*{SUFFIX}, *{_SEGMENT}"
            )
        return [path]
    folder = path / _LOG if (path / _LOG).is_dir() else path
    try:
        names = sorted(each.name for each in folder.iterdir())
    except OSError as e:
        raise UsageError(f"{folder} cannot be read", why=e.strerror or "") from None
    snapshots = [name for name in names if parse_name(name) is not None]
    segments = [
        name for name in names if name.endswith(_SEGMENT) and name[: -len(_SEGMENT)].isdigit()
    ]
    if not snapshots and not segments:
        raise UsageError(
            f"there is no metadata in {path}", hint=f"name a directory that has {_LOG}"
        )
    newest = snapshots[-1] if snapshots else None
    covered = parse_name(newest) if newest is not None else None
    # A segment that begins below the snapshot may reach beyond it.
    begins = [int(name[: -len(_SEGMENT)]) for name in segments]
    kept = [
        name
        for name, following in zip(segments, [*begins[1:], None], strict=True)
        if covered is None or following is None or following > covered.offset
    ]
    return [folder / name for name in ([newest] if newest is not None else []) + kept]
