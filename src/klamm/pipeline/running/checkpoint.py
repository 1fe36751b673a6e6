"""The folder in which a pipeline keeps its progress: one run at a time, and of this pipeline."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.identity.keeping import (
    OWN_FOLDER,
    LocalFiles,
    forget_query,
    has_committed,
    positions,
    swapping,
)
from klamm.pipeline.plan import Plan, labels_in
from klamm.pipeline.running import registry

_LOCK = ".lock"


class InUse(PipelineFailed):
    """Somebody else holds the folder."""


def local_path(place: str) -> Path | None:
    """The folder on this machine, or None if it is on some other file system."""
    parts = urlsplit(place)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    # One letter before the colon would be a drive, not a scheme; none of Spark's schemes is that short.
    return None if len(parts.scheme) > 1 and "://" in place else Path(place).expanduser().absolute()


@contextmanager
def only_writer(checkpoint: str) -> Iterator[None]:
    """Raises PipelineFailed if another process runs on this checkpoint. A process that dies gives it back."""
    folder = local_path(checkpoint)
    if folder is None:
        # Elsewhere there is no lock to be had; Spark itself ends the slower of two writers at their first batch.
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / _LOCK, "a+")  # noqa: SIM115 - it is held as long as the block lasts
    except OSError as error:
        raise PipelineFailed(f"the checkpoint {folder} cannot be used: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise InUse(
                f"another run (pid {holder}) uses the checkpoint {folder}: stop it, or give this one another checkpoint"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def check_not_lost(name: str, checkpoint: str) -> None:
    """A pipeline that ran on this checkpoint and finds nothing there would quietly begin anew, and write all again."""
    folder, before = local_path(checkpoint), registry.look(name)
    if folder is None or before is None or before.checkpoint != checkpoint:
        return
    queries = (registry.last_progress(name) or {}).get("queries") or ()
    had_begun = any(query.get("batches") or query.get("partitions") for query in queries)
    is_empty = not folder.is_dir() or not any(_is_query(each) for each in folder.iterdir())
    # A replay has set the old one aside itself.
    if had_begun and is_empty and registry.start_override(name) is None:
        raise PipelineFailed(
            f"the checkpoint {folder} is gone, and with it what tells how far the pipeline is: bring it back, or "
            f"accept that all is processed again with `klamm pipeline reset {name} --execute`"
        )


def check_not_swapping(checkpoint: str) -> None:
    """Between an old result with the old progress and a new one with the new there is nothing to go on from."""
    folder = local_path(checkpoint)
    if folder is not None and (queries := swapping(LocalFiles(folder))):
        sinks = " ".join(
            f"--sink {label}" for query in queries for label in sorted(labels_in(query))
        )
        raise PipelineFailed(
            f"a refresh of {', '.join(queries)} was cut off while the new took the place of the old: `klamm pipeline "
            f"refresh FILE {sinks} --execute` finishes it"
        )


def check_sinks(checkpoint: str, plan: Plan) -> None:
    """A query is known by its sinks. With one more or less it would be another, and all its sinks would be written from
    the beginning: that must not happen unasked. A query that never finished a batch is no obstacle."""
    folder = local_path(checkpoint)
    if folder is None or not folder.is_dir():
        return
    for name, old in _replaced(folder, plan):
        if has_committed(LocalFiles(folder), old):
            shared = ", ".join(sorted(labels_in(name) & labels_in(old)))
            raise PipelineFailed(
                f"the sinks that share a view changed (now {_list(name)}, before {_list(old)}), and "
                f"{shared} would be written from the beginning again: give the new sink a step of its own "
                "to read, or forget the progress with `klamm pipeline reset`"
            )


def drop_unfinished(checkpoint: str, plan: Plan, notice: Callable[[str], None]) -> None:
    """Queries that never finished a batch and whose sinks are another query's now."""
    folder = local_path(checkpoint)
    if folder is None or not folder.is_dir():
        return
    files = LocalFiles(folder)
    for old in sorted({old for _, old in _replaced(folder, plan)}):
        if positions(files, old) is not None:
            notice(
                f"{old}: its first batch was never finished and its sinks changed since, so they are begun anew; what "
                "the batch had written already is written again"
            )
        forget_query(files, old)


def not_begun(checkpoint: str, plan: Plan) -> frozenset[str]:
    """The queries of a pipeline that would start where its file says; none where that cannot be seen."""
    folder = local_path(checkpoint)
    if folder is None:
        return frozenset()
    names = [query.name for query in plan.queries] + [each.name for each in plan.dead_letters]
    return frozenset(name for name in names if not (folder / name).is_dir())


def _replaced(folder: Path, plan: Plan) -> list[tuple[str, str]]:
    """Each new query with each old one of which it takes a sink."""
    planned = {query.name for query in plan.queries}
    there = {each.name for each in folder.iterdir() if _is_query(each)}
    return [
        (name, old)
        for name in sorted(planned - there)
        for old in sorted(there - planned)
        if labels_in(name) & labels_in(old)
    ]


def _is_query(path: Path) -> bool:
    return path.is_dir() and path.name != OWN_FOLDER


def _list(query_name: str) -> str:
    return ", ".join(sorted(labels_in(query_name)))
