"""`klamm pipeline reset`: forget how far a pipeline was."""

from __future__ import annotations

import shutil
from pathlib import Path

from klamm.cli.connect import ANSWER_TIMEOUT_S, Cluster, Output, Properties, answer
from klamm.cli.output import CommandError, Row, notice, show
from klamm.cli.pipeline.progress.folder import held_still, parts_of, queries_in
from klamm.cli.pipeline.progress.queries import Sinks, Views, choices_of, some_of
from klamm.cli.pipeline.targets import Bootstrap, Checkpoint, Execute, NameOrFile, Target, find
from klamm.pipeline.identity.keeping import LocalFiles, forget_query
from klamm.pipeline.running import registry


def reset(
    target: NameOrFile,
    sinks: Sinks = None,
    views: Views = None,
    execute: Execute = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Forget how far a pipeline is.

    Its checkpoint and its group: the next run starts as if it were the first. With --sink or --view only what these
    have. Shows what it would do, unless told to --execute.
    """
    found = find(target)
    with held_still(found, found.checkpoint(checkpoint)) as folder:
        there = queries_in(folder)
        chosen = some_of(choices_of(found.pipeline, there), sinks, views)
        names = None if chosen is None else [c.query for c in chosen if c.query in there]
        forgotten = [("checkpoint", str(folder / name)) for name in names or ()]
        if names is None or set(names) >= set(there):
            parts = [("checkpoint", str(part)) for part in parts_of(folder)]
            forgotten = [("group", found.group), *parts]
            if execute:
                forget_progress(found, folder, found.cluster(bootstrap, properties))
        elif execute:
            forget_queries(folder, names)
    rows: list[Row] = [
        {"what": what, "name": name, "forgotten": execute} for what, name in forgotten
    ]
    show(rows, output)
    if not execute:
        notice("nothing was changed; --execute does it")


def forget_queries(folder: Path, names: list[str]) -> None:
    files = LocalFiles(folder)
    for name in names:
        try:
            forget_query(files, name)
        except OSError as error:
            raise CommandError(
                f"{folder / name} cannot be removed", why=error.strerror or ""
            ) from error


def forget_progress(target: Target, folder: Path, cluster: Cluster) -> None:
    """The group first: if the cluster says no, nothing has happened."""
    _delete_group(cluster, target.group)
    for part in parts_of(folder):
        try:
            shutil.rmtree(part)
        except OSError as error:
            raise CommandError(f"{part} cannot be removed", why=error.strerror or "") from error
    registry.forget(target.name)


def _delete_group(cluster: Cluster, group: str) -> None:
    from confluent_kafka import KafkaException

    # Kept by name: a client that is forgotten takes its open questions with it.
    admin = cluster.admin()
    (future,) = admin.delete_consumer_groups([group], request_timeout=ANSWER_TIMEOUT_S).values()
    try:
        answer(future, f"group {group} was not deleted")
    except CommandError as failure:
        cause = failure.__cause__
        assert isinstance(cause, KafkaException)
        if cause.args[0].name() != "GROUP_ID_NOT_FOUND":
            raise
