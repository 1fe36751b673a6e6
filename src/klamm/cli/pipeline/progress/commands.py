"""`klamm pipeline replay`, `reset` and `accept`: the commands and their options. Thin: parse, call, print."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import Output, Properties
from klamm.cli.output import Row, notice, show
from klamm.cli.pipeline.progress.accepting import (
    ACCEPT_ELSEWHERE,
    changed_queries,
    resumed_in,
)
from klamm.cli.pipeline.progress.accepting import accept as accept_topics
from klamm.cli.pipeline.progress.choosing import Sinks, Views, choices_of, some_of
from klamm.cli.pipeline.progress.refreshing import check_refreshable, rebuild, refresh_rows
from klamm.cli.pipeline.progress.replaying import (
    check_begun,
    check_has_topics,
    forget_progress,
    forget_queries,
    held_still,
    parse_when,
    parts_of,
    queries_in,
    replay_rows,
    start_again,
)
from klamm.cli.pipeline.running import DEFAULT_MASTER, Wishes, run_file
from klamm.cli.pipeline.targets import (
    Bootstrap,
    Checkpoint,
    Execute,
    Master,
    NameOrFile,
    PipelineFile,
    Quiet,
    Target,
    Warehouse,
    check_spark_is_installed,
    find,
    read_pipeline,
    target_of,
)
from klamm.pipeline.running.checkpoint import local_path


def replay(
    file: PipelineFile,
    when: Annotated[
        str,
        typer.Option("--from", metavar="WHEN", help="earliest, 2026-11-15T10:00 or '2 hours ago'."),
    ],
    sinks: Sinks = None,
    views: Views = None,
    execute: Execute = False,
    run_now: Annotated[
        bool, typer.Option("--run", help="Do it, and run the pipeline at once.")
    ] = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Read a pipeline's topics again from some time on.

    The progress until now is set aside, and the next run starts there: what was written since then is written again.
    With --sink or --view only what these have; the others go on where they are. Shows what it would do, unless told
    to --execute.
    """
    pipeline = read_pipeline(file)
    start = parse_when(when, now_ms=time.time_ns() // 1_000_000)
    check_has_topics(pipeline)
    if run_now:
        check_spark_is_installed()
    target = target_of(pipeline)
    does_it = execute or run_now
    with held_still(target, target.checkpoint(checkpoint)) as folder:
        chosen = some_of(choices_of(pipeline, ()), sinks, views)
        if chosen is not None:
            check_begun(folder, pipeline, chosen)
        cluster = target.cluster(bootstrap, properties)
        rows = replay_rows(cluster, pipeline, start, folder, chosen, done=does_it)
        aside = start_again(target, folder, start, chosen) if does_it else None
    show(rows, output)
    _warn_of_other_progress(target, folder)
    if not does_it:
        notice("nothing was changed; --execute does it, --run also runs the pipeline")
        return
    if aside is not None:
        notice(f"the progress until now is kept in {aside}")
    if run_now:
        run_file(file, Wishes(bootstrap=bootstrap, checkpoint=checkpoint, output=output))
    else:
        notice(f"the next run that keeps its progress in {folder} starts there")


def _warn_of_other_progress(target: Target, folder: Path) -> None:
    """Who ran it with --checkpoint and asks without would hear of a start that the next such run does not know."""
    last = target.run.checkpoint if target.run is not None else str(folder)
    if local_path(last) != folder:
        notice(f"its last run kept its progress in {last}: --checkpoint {last} is for that one")


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


def refresh(
    file: PipelineFile,
    sinks: Sinks = None,
    views: Views = None,
    when: Annotated[
        str,
        typer.Option("--from", metavar="WHEN", help="earliest, 2026-11-15T10:00 or '2 hours ago'."),
    ] = "earliest",
    execute: Execute = False,
    master: Master = DEFAULT_MASTER,
    checkpoint: Checkpoint = None,
    warehouse: Warehouse = None,
    bootstrap: Bootstrap = None,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Rebuild tables beside those that are there.

    The topics are read from the beginning into new tables, which take the place of the old ones when they are whole:
    until then readers see the old. The pipeline may run meanwhile, but not while they take their place. Shows what it
    would do, unless told to --execute.
    """
    pipeline = read_pipeline(file)
    start = parse_when(when, now_ms=time.time_ns() // 1_000_000)
    planned = choices_of(pipeline, ())
    chosen = some_of(planned, sinks, views)
    queries = check_refreshable(pipeline, start, planned if chosen is None else chosen)
    is_done = execute and rebuild(
        file,
        queries,
        start,
        Wishes(
            master=master,
            bootstrap=bootstrap,
            checkpoint=checkpoint,
            warehouse=warehouse,
            quiet=quiet,
        ),
    )
    show(refresh_rows(pipeline, start, queries, done=is_done), output)
    if not execute:
        notice("nothing was changed; --execute does it")
    elif not is_done:
        raise typer.Exit(1)


def accept(
    target: NameOrFile,
    execute: Execute = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Go on at the old offsets in topics made again.

    That is, deleted and created anew under the same name, or on another cluster. The column left_out counts the
    records that are there and will never be read: `replay` reads them. Shows what it would do, unless told to --execute.
    """
    found = find(target)
    with held_still(found, found.checkpoint(checkpoint), if_elsewhere=ACCEPT_ELSEWHERE) as folder:
        cluster = found.cluster(bootstrap, properties)
        changed = changed_queries(folder, cluster)
        resumed = resumed_in(changed, cluster) if changed else []
        if execute:
            accept_topics(folder, changed)
    show((each.row(accepted=execute) for each in resumed), output)
    if not resumed:
        notice(f"the topics of {found.name} are those that it has read: there is nothing to accept")
        return
    if any(each.is_beyond for each in resumed):
        notice(
            "a position lies behind the end of its partition: the next run stops there, as records are gone; "
            "`klamm pipeline replay` begins anew"
        )
    notice(
        f"the next run of {found.name} goes on at next_offset"
        if execute
        else "nothing was changed; --execute does it"
    )
