"""The folder in which a pipeline keeps how far it is: held still while somebody changes it, and what in it is ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klamm.cli.output import CommandError
from klamm.cli.pipeline.targets import Target
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.identity.keeping import OWN_FOLDER
from klamm.pipeline.running.checkpoint import local_path, only_writer

# By these Spark's folder of one query is known.
_SPARKS_OWN = ("metadata", "offsets", "commits", "sources", "state")
_LANDED = "landed."
_IF_ELSEWHERE = (
    "move it aside with the tools of that storage, then run the pipeline with the `start` it needs"
)


@contextmanager
def held_still(
    target: Target, checkpoint: str, *, if_elsewhere: str = _IF_ELSEWHERE
) -> Iterator[Path]:
    """The folder of the progress, while nobody can start the pipeline on it. `if_elsewhere` is the hint for one that is
    not on this machine."""
    run = target.run
    if run is not None and run.is_alive:
        raise CommandError(
            f"pipeline {target.name} runs (pid {run.pid})",
            hint=f"klamm pipeline stop {target.name}",
        )
    folder = local_path(checkpoint)
    if folder is None:
        raise CommandError(
            f"the checkpoint {checkpoint} is not on this machine",
            hint=if_elsewhere,
        )
    if not folder.exists():
        yield folder
        return
    try:
        with only_writer(checkpoint):
            yield folder
    except PipelineFailed as failure:
        raise CommandError(str(failure)) from failure


def parts_of(folder: Path) -> list[Path]:
    """The folders that queries made in it, what was landed there and klamm's own: nothing else is ever removed."""
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and _is_ours(each))


def queries_in(folder: Path) -> list[str]:
    return [part.name for part in parts_of(folder) if _is_sparks(part)]


def _is_ours(folder: Path) -> bool:
    return folder.name.startswith(_LANDED) or folder.name == OWN_FOLDER or _is_sparks(folder)


def _is_sparks(folder: Path) -> bool:
    return any((folder / name).exists() for name in _SPARKS_OWN)
