"""Which disk is full: Java and Python say that one is, and mostly not which."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from klamm.pipeline.place import Place
from klamm.pipeline.running import registry
from klamm.pipeline.spec import ParquetSink, Pipeline

# A disk with more than this was not full a moment ago.
_LITTLE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in which a run writes."""

    what: str
    path: Path


def folders_of(pipeline: Pipeline, place: Place) -> Iterator[Folder]:
    """Those on this machine."""
    named = [("the checkpoint", place.checkpoint), ("the warehouse", place.warehouse)]
    named += [
        ("the sink", sink.parquet) for sink in pipeline.sinks if isinstance(sink, ParquetSink)
    ]
    own = dict(pipeline.options).get("spark.local.dir") or os.environ.get("SPARK_LOCAL_DIRS")
    named += [("Spark's own files", each) for each in (own or tempfile.gettempdir()).split(",")]
    named.append(("klamm's own files", str(registry.state_folder(pipeline.name))))
    for what, path in named:
        parts = urlsplit(path)
        if parts.scheme in ("", "file"):
            yield Folder(what, Path(unquote(parts.path) if parts.scheme else path).expanduser())


def fullest(
    folders: Iterable[Folder], *, free: Callable[[Path], int | None] | None = None
) -> str | None:
    """The folder whose disk has next to nothing left, in words; None if none of them is such."""
    ask = free or _free_bytes
    known = [(left, each) for each in folders if (left := ask(each.path)) is not None]
    if not known:
        return None
    left, folder = min(known, key=lambda each: each[0])
    if left > _LITTLE_BYTES:
        return None
    return f"{folder.what} ({folder.path}, {left // 1024} KiB left)"


def _free_bytes(path: Path) -> int | None:
    for existing in (path, *path.parents):
        try:
            return shutil.disk_usage(existing).free
        except OSError:
            continue
    return None
