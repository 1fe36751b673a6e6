"""`klamm pipeline replay`: read the past again."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.connect import Cluster, Output, Properties, cluster_metadata, partitions_of
from klamm.cli.group.lag import committed
from klamm.cli.offsets import BEGINNING, END, Kind, Position, ask
from klamm.cli.output import CommandError, Row, UsageError, notice, show
from klamm.cli.pipeline.progress.folder import held_still
from klamm.cli.pipeline.progress.queries import Choice, Sinks, Views, choices_of, some_of
from klamm.cli.pipeline.run import Wishes, run_file
from klamm.cli.pipeline.targets import (
    Bootstrap,
    Checkpoint,
    Execute,
    PipelineFile,
    Target,
    check_spark_is_installed,
    read_pipeline,
    target_of,
)
from klamm.pipeline.identity.keeping import LocalFiles, kept_file, positions
from klamm.pipeline.plan import plan_of
from klamm.pipeline.running import registry
from klamm.pipeline.running.checkpoint import local_path, not_begun
from klamm.pipeline.spec import Duration, Edge, FromTime, Pipeline, TopicSource, parse_time

_AGO = re.compile(r"(.+?)\s*\bago", re.IGNORECASE)


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


def parse_when(text: str, *, now_ms: int) -> Edge | FromTime:
    """`earliest`, a time, or how long ago: `2 hours ago`."""
    words = text.strip()
    if words.lower() == Edge.EARLIEST:
        return Edge.EARLIEST
    ago = _AGO.fullmatch(words)
    try:
        when = FromTime(now_ms - Duration.of(ago[1]).ms) if ago else parse_time(words)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time to replay from",
            hint="--from earliest, --from 2026-11-15T10:00 (UTC unless it says) or --from '2 hours ago'",
        ) from None
    if when.timestamp_ms < 0 or when.timestamp_ms > now_ms:
        raise UsageError(f"{text!r} is not in the past")
    return when


def check_has_topics(pipeline: Pipeline) -> None:
    if not any(isinstance(source, TopicSource) for source in pipeline.sources):
        raise UsageError(
            f"pipeline {pipeline.name} reads no topic, and only topics can be read again from a time",
            hint=f"`klamm pipeline reset {pipeline.name}` starts it over",
        )


def check_begun(folder: Path, pipeline: Pipeline, chosen: list[Choice]) -> None:
    """The start counts for all queries without a checkpoint."""
    names = {each.query for each in chosen}
    if new := sorted(not_begun(str(folder), plan_of(pipeline)) - names):
        raise CommandError(
            f"{', '.join(new)} has no progress yet, and would start there as well",
            hint="run the pipeline once before, or replay all of it",
        )


def replay_rows(
    cluster: Cluster,
    pipeline: Pipeline,
    start: Edge | FromTime,
    folder: Path,
    chosen: list[Choice] | None,
    *,
    done: bool,
) -> list[Row]:
    """For each partition: how far the pipeline was, where it will start, and how many records there are from there."""
    admin = cluster.admin()
    if chosen is not None:
        read = {source for each in chosen for source in each.sources}
        sources = tuple(source for source in pipeline.sources if source.name in read)
        pipeline = replace(pipeline, sources=sources)
    places = [
        place for topic in _topics(cluster, pipeline) for place in partitions_of(admin, topic)
    ]
    if not places:
        return []
    group = committed(admin, pipeline.group) if chosen is None else _positions(folder, chosen)
    ends = ask(admin, places, END)
    position = (
        BEGINNING if start is Edge.EARLIEST else Position(Kind.TIMESTAMP, _timestamp_ms(start))
    )
    starts = ask(admin, places, position)
    return [
        _replay_row(place, group.get(place), starts[place], ends[place], done=done)
        for place in places
    ]


def _positions(folder: Path, chosen: list[Choice]) -> dict[TopicPartition, int]:
    """The group tells how far the slowest query is, which may be another one."""
    least: dict[TopicPartition, int] = {}
    for each in chosen:
        for topic, offsets in (positions(LocalFiles(folder), each.query) or {}).items():
            for number, offset in offsets.items():
                place = TopicPartition(topic, number)
                least[place] = min(offset, least.get(place, offset))
    return least


def _replay_row(
    place: TopicPartition, processed: int | None, start: int, end: int, *, done: bool
) -> Row:
    # No record is as late as that: it starts with the next to come.
    start = end if start < 0 else start
    return {
        "topic": place.topic,
        "partition": place.partition,
        "processed": processed,
        "start": start,
        "end_offset": end,
        "records": end - start,
        "replay": done,
    }


def _timestamp_ms(start: Edge | FromTime) -> int:
    assert isinstance(start, FromTime)
    return start.timestamp_ms


def _topics(cluster: Cluster, pipeline: Pipeline) -> Iterator[str]:
    """Those that the sources name, each once."""
    sources = [source for source in pipeline.sources if isinstance(source, TopicSource)]
    named = [topic for source in sources for topic in source.topics]
    patterns = [source.pattern for source in sources if source.pattern]
    if patterns:
        existing = sorted(cluster_metadata(cluster.admin()).topics)
        named += [topic for topic in existing if any(_matches(p, topic) for p in patterns)]
    yield from dict.fromkeys(named)


def _matches(pattern: str, topic: str) -> bool:
    """The notation is Java's; what Python does not understand of it is not shown here, but read by Spark."""
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:
        return False


def start_again(
    target: Target, folder: Path, start: Edge | FromTime, chosen: list[Choice] | None
) -> Path | None:
    """Where the old progress lies now. The next run has none and starts there."""
    names = None if chosen is None else [each.query for each in chosen]
    # In this order: after a crash in between the old progress still stands, and the start counts for nothing.
    registry.set_start_override(target.name, start, names)
    if not folder.exists():
        return None
    aside = _free_name(folder)
    try:
        if names is None:
            return folder.rename(aside)
        return aside if _move_queries(folder, aside, names) else None
    except OSError as error:
        raise CommandError(
            f"the checkpoint {folder} cannot be renamed", why=error.strerror or ""
        ) from error


def _free_name(folder: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = folder.with_name(f"{folder.name}.before-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = folder.with_name(f"{folder.name}.before-{stamp}-{number}")
    return aside


def _move_queries(folder: Path, aside: Path, names: list[str]) -> bool:
    """Whether there was anything to move."""
    moved = False
    for name in names:
        # What klamm keeps of a query goes after it: without the query it counts for nothing.
        for part in (name, kept_file(name)):
            if (folder / part).exists():
                (aside / part).parent.mkdir(parents=True, exist_ok=True)
                (folder / part).rename(aside / part)
                moved = True
    return moved
