"""Runs a pipeline from its file's facts to its end: session, queries, reports, offsets, and what is told of failures."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from klamm.pipeline.client import BadClientSettings, check_client
from klamm.pipeline.failures.trouble import (
    NO_SPACE,
    USAGE,
    PipelineFailed,
    failed,
    trouble_of,
)
from klamm.pipeline.jars import Watcher as JarWatcher
from klamm.pipeline.partitions import (
    SHUFFLE_PARTITIONS,
    given_partitions,
    kept_partitions,
    may_have_state,
    partitions_of_cluster,
    what_cannot_be_had,
    what_stays,
)
from klamm.pipeline.place import Place
from klamm.pipeline.plan import plan_of
from klamm.pipeline.running import registry
from klamm.pipeline.running.checkpoint import (
    check_not_lost,
    check_not_swapping,
    check_sinks,
    drop_unfinished,
    local_path,
    not_begun,
    only_writer,
)
from klamm.pipeline.running.disks import folders_of, fullest
from klamm.pipeline.running.progress import Report, Reporter
from klamm.pipeline.spec import BadPipeline, Pipeline, TopicSource, filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from klamm.pipeline.identity.guard import Guard
    from klamm.pipeline.identity.keeping import Files
    from klamm.pipeline.running.queries import Startable
    from klamm.pipeline.running.supervisor import Notice, Watch

DEFAULT_BOOTSTRAP = "localhost:9092"
STOP_SECONDS = 30.0
# What is there now should be done now: a run of it does not wait for ever for a broker.
PATIENCE_ONCE_SECONDS = 120.0


def run(
    pipeline: Pipeline,
    *,
    bootstrap: str | None = None,
    master: str = "local[*]",
    once: bool = False,
    checkpoint: str | None = None,
    warehouse: str | None = None,
    folder: Path | None = None,
    file: str | None = None,
    watch: Watch | None = None,
    stop: threading.Event | None = None,
    notice: Notice | None = None,
    fetching: JarWatcher | None = None,
    spark: SparkSession | None = None,
    stop_seconds: float = STOP_SECONDS,
    log_level: str = "FATAL",
    queries: Collection[str] | None = None,
) -> None:
    """Returns when `stop` is set, or when all there was is done (`once`, or a trigger that ends by itself).

    Raises PipelineFailed with one sentence. `folder` is where the user's modules lie, `watch` is given a report each
    second, `notice` one line for each thing that people should know of; without it they go to stderr. A `spark` that
    is given is used and left running. `queries` are the names of those that are run, if not all are.
    """
    try:
        pipeline = filled(pipeline, os.environ)
        check_client(dict(pipeline.client))
    except (BadPipeline, BadClientSettings) as bad:
        raise PipelineFailed(str(bad), exit_code=USAGE) from bad
    place = place_of(pipeline, bootstrap=bootstrap, checkpoint=checkpoint, warehouse=warehouse)
    notice = notice or _to_stderr
    plan = plan_of(pipeline)
    this_run = registry.run_of_this_process(
        pipeline.name,
        bootstrap=place.bootstrap,
        master=master,
        checkpoint=place.checkpoint,
        warehouse=place.warehouse,
        file=file,
        once=once,
    )
    try:
        check_not_lost(pipeline.name, place.checkpoint)
        with (
            _full_disk_named(pipeline, place),
            only_writer(place.checkpoint),
            registry.registered(this_run),
        ):
            check_not_swapping(place.checkpoint)
            check_sinks(place.checkpoint, plan)
            drop_unfinished(place.checkpoint, plan, notice)
            with session_for(pipeline, place, master, fetching, spark, log_level) as session:
                _supervise(
                    session,
                    pipeline,
                    place,
                    once=once,
                    folder=folder,
                    watch=watch,
                    stop=stop or threading.Event(),
                    notice=notice,
                    stop_seconds=stop_seconds,
                    file=file,
                    queries=queries,
                )
    except registry.AlreadyRuns as other:
        raise PipelineFailed(str(other)) from other


def place_of(
    pipeline: Pipeline,
    *,
    bootstrap: str | None = None,
    checkpoint: str | None = None,
    warehouse: str | None = None,
) -> Place:
    """What is given wins over the file, and the file over klamm's own folders."""
    return Place(
        bootstrap=bootstrap or pipeline.bootstrap or DEFAULT_BOOTSTRAP,
        client=dict(pipeline.client),
        checkpoint=_whole(
            checkpoint or pipeline.checkpoint or registry.checkpoint_of(pipeline.name)
        ),
        warehouse=_whole(warehouse or registry.warehouse()),
    )


def _whole(place: str) -> str:
    """Spark's JVM need not stand in the folder in which the user stands."""
    path = local_path(place)
    return place if path is None else str(path)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _full_disk_named(pipeline: Pipeline, place: Place) -> Iterator[None]:
    try:
        yield
    except (PipelineFailed, OSError) as error:
        sentence = trouble_of(error).sentence
        if NO_SPACE not in sentence:
            raise
        where = fullest(folders_of(pipeline, place)) or "not here, so it is a worker's"
        way_on = "make room and run it again, it goes on where it was"
        raise PipelineFailed(
            sentence.replace(NO_SPACE, f"{NO_SPACE}: {where}; {way_on}")
        ) from error


@contextmanager
def session_for(
    pipeline: Pipeline,
    place: Place,
    master: str,
    fetching: JarWatcher | None,
    given: SparkSession | None,
    log_level: str = "FATAL",
) -> Iterator[SparkSession]:
    """The one that is given, which is left running, or one of its own."""
    if given is not None:
        yield given
        return
    try:
        from klamm.pipeline.session import SessionSettings, open_session
    except ModuleNotFoundError as missing:
        raise failed(missing) from missing
    settings = SessionSettings(
        name=f"klamm {pipeline.name}",
        master=master,
        uses=plan_of(pipeline).uses,
        warehouse=place.warehouse,
        # Failures are told in one sentence; Java's stack traces beside it would bury it.
        log_level=log_level,
        options=dict(pipeline.options),
    )
    try:
        with _own_signals():
            session = open_session(settings, watch=fetching)
    except Exception as error:
        raise failed(error, prefix="Spark does not start: ") from error
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _own_signals() -> Iterator[None]:
    """A session takes Ctrl-C for itself: it would cancel the batch that is to be finished."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _supervise(
    spark: SparkSession,
    pipeline: Pipeline,
    place: Place,
    *,
    once: bool,
    folder: Path | None,
    watch: Watch | None,
    stop: threading.Event,
    notice: Notice,
    stop_seconds: float,
    file: str | None,
    queries: Collection[str] | None,
) -> None:
    from klamm.pipeline.running.cluster_watch import ClusterWatch
    from klamm.pipeline.running.offsets import GroupOffsets, Readers
    from klamm.pipeline.running.supervisor import Supervisor

    patience = PATIENCE_ONCE_SECONDS if once or pipeline.trigger.interval is None else None
    startables = _prepared(
        spark,
        _spread(spark, _from_where_asked(pipeline, place.checkpoint), place, notice),
        place,
        once=once,
        folder=folder,
        stop=stop,
        notice=notice,
        patience_seconds=patience,
        guard=_guard(spark, pipeline, place, folder=folder, file=file, notice=notice),
    )
    if startables is None:
        return
    if queries is not None:
        startables = [each for each in startables if each.name in queries]

    def told(report: Report) -> None:
        registry.note_progress(pipeline.name, report.to_dict())
        if report.have_begun(registry.start_override_of(pipeline.name)):
            # Every query has a checkpoint now, and a start position counts no more.
            registry.clear_start_override(pipeline.name)
        if watch is not None:
            watch(report)

    # Who moves files into files need not hear that there is no broker.
    cluster = ClusterWatch(place, tell=notice if pipeline.uses_cluster else lambda line: None)
    offsets = GroupOffsets(pipeline.group, place, lost=cluster.heard_that_it_is_lost)
    supervisor = Supervisor(
        startables=startables,
        reporter=Reporter(pipeline.name, [each.name for each in startables]),
        readers=Readers(pipeline),
        offsets=offsets,
        cluster=cluster,
        watch=told,
        notice=notice,
        patience_seconds=patience,
        stop_seconds=stop_seconds,
    )
    try:
        supervisor.run(stop)
    except PipelineFailed:
        raise
    except Exception as error:
        raise failed(error) from error
    finally:
        offsets.close()


def _spread(spark: SparkSession, pipeline: Pipeline, place: Place, notice: Notice) -> Pipeline:
    """With a number of partitions that fits the cluster, unless somebody gave one."""
    files = _files(spark, place)
    kept = {query.name: kept_partitions(files, query.name) for query in plan_of(pipeline).queries}
    given = given_partitions(spark, pipeline)
    if given is not None:
        for line in what_cannot_be_had(given, kept) if may_have_state(pipeline) else ():
            notice(line)
        return pipeline
    number = partitions_of_cluster(spark) if None in kept.values() else None
    if number is None:
        return pipeline
    if may_have_state(pipeline):
        notice(what_stays(number))
    return replace(pipeline, options=(*pipeline.options, (SHUFFLE_PARTITIONS, str(number))))


def _files(spark: SparkSession, place: Place) -> Files:
    from klamm.pipeline.identity.keeping import LocalFiles
    from klamm.pipeline.sources.folder import Folder

    here = local_path(place.checkpoint)
    return LocalFiles(here) if here is not None else Folder(spark, place.checkpoint)


def _guard(
    spark: SparkSession,
    pipeline: Pipeline,
    place: Place,
    *,
    folder: Path | None,
    file: str | None,
    notice: Notice,
) -> Guard:
    from klamm.pipeline.identity.asking import topics_of
    from klamm.pipeline.identity.definition import definitions_of
    from klamm.pipeline.identity.guard import Guard

    return Guard(
        pipeline=pipeline.name,
        file=file,
        topics=topics_of(pipeline, place),
        files=_files(spark, place),
        definitions=definitions_of(pipeline, folder),
        notice=notice,
    )


def _prepared(
    spark: SparkSession,
    pipeline: Pipeline,
    place: Place,
    *,
    once: bool,
    folder: Path | None,
    stop: threading.Event,
    notice: Notice,
    patience_seconds: float | None,
    guard: Guard,
) -> list[Startable] | None:
    """The queries, as soon as the cluster answers what has to be known for them; None if the run is stopped before."""
    from klamm.pipeline.running.queries import prepare
    from klamm.pipeline.running.supervisor import Pauses, again

    pauses = Pauses(patience_seconds)
    while not stop.is_set():
        try:
            return prepare(spark, pipeline, place, once=once, folder=folder, guard=guard)
        except PipelineFailed as failure:
            trouble = trouble_of(failure)
            pause = pauses.next(time.monotonic()) if trouble.may_pass else None
            if pause is None:
                raise
            notice(again(pipeline.name, trouble, pause))
            stop.wait(pause)
    return None


def _from_where_asked(pipeline: Pipeline, checkpoint: str) -> Pipeline:
    """`klamm pipeline replay` says where topics are read from when there is no checkpoint, in place of the file."""
    start = registry.start_override(pipeline.name)
    if start is None:
        return pipeline
    # It counts for all sources, and so for every query that has no checkpoint.
    of = registry.start_override_of(pipeline.name)
    if of is not None and (new := not_begun(checkpoint, plan_of(pipeline)) - of):
        raise PipelineFailed(
            f"{', '.join(sorted(new))} has no progress yet and would start where the replay of {', '.join(sorted(of))} "
            "does: run the pipeline without it first"
        )
    return replace(
        pipeline,
        sources=tuple(
            replace(source, start=start) if isinstance(source, TopicSource) else source
            for source in pipeline.sources
        ),
    )
