"""`klamm pipeline replay` and `reset`: read the past again, or forget how far a pipeline was."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from klamm.base.ids import TopicPartition
from klamm.cli.connect import ANSWER_TIMEOUT_S, Cluster, answer, cluster_metadata, partitions_of
from klamm.cli.group.lag import committed
from klamm.cli.offsets import BEGINNING, END, Kind, Position, ask
from klamm.cli.output import CommandError, Row, UsageError
from klamm.cli.pipeline.progress.choosing import Choice
from klamm.cli.pipeline.targets import Target
from klamm.pipeline.identity.keeping import (
    OWN_FOLDER,
    LocalFiles,
    forget_query,
    kept_file,
    positions,
)
from klamm.pipeline.running import runs
from klamm.pipeline.running.checkpoint import local_path, not_begun, only_writer
from klamm.pipeline.running.plan import plan_of
from klamm.pipeline.running.trouble import PipelineFailed
from klamm.pipeline.spec import Duration, Edge, FromTime, Pipeline, TopicSource, parse_time

_AGO = re.compile(r"(.+?)\s*\bago", re.IGNORECASE)
# By these Spark's folder of one query is known.
_SPARKS_OWN = ("metadata", "offsets", "commits", "sources", "state")
_LANDED = "landed."
_IF_ELSEWHERE = (
    "move it aside with the tools of that storage, then run the pipeline with the `start` it needs"
)


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


def start_again(
    target: Target, folder: Path, start: Edge | FromTime, chosen: list[Choice] | None
) -> Path | None:
    """Where the old progress lies now. The next run has none and starts there."""
    names = None if chosen is None else [each.query for each in chosen]
    # In this order: after a crash in between the old progress still stands, and the start counts for nothing.
    runs.set_start_override(target.name, start, names)
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
    runs.forget(target.name)


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
