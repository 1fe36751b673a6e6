"""The walk of a refresh: build beside what is there, then take its place, with the checkpoint that belongs to it.

Each step may be cut off, and the next call goes on: what is built has a checkpoint like any pipeline, and from the first
moment in which readers may see something new a note beside the old checkpoint keeps the pipeline from running on it.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from klamm.pipeline.failures.trouble import USAGE, PipelineFailed, failed
from klamm.pipeline.identity.definition import definitions_of
from klamm.pipeline.identity.keeping import (
    LocalFiles,
    committed_batches,
    has_committed,
    kept_file,
    read_kept,
    swap_note,
    write_kept,
)
from klamm.pipeline.jars import Watcher as JarWatcher
from klamm.pipeline.place import Place
from klamm.pipeline.refresh.planning import CannotRefresh, Refresh, plan_refresh
from klamm.pipeline.running import registry
from klamm.pipeline.running.checkpoint import InUse, local_path, only_writer
from klamm.pipeline.running.run import place_of, run, session_for
from klamm.pipeline.spec import Pipeline, Start, filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from klamm.pipeline.running.supervisor import Notice, Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a refresh is asked for, and where."""

    pipeline: Pipeline
    queries: Collection[str]
    start: Start
    bootstrap: str | None = None
    master: str = "local[*]"
    checkpoint: str | None = None
    warehouse: str | None = None
    folder: Path | None = None
    file: str | None = None


def refresh(
    wanted: Wanted,
    *,
    watch: Watch | None = None,
    stop: threading.Event,
    notice: Notice,
    fetching: JarWatcher | None = None,
    spark: SparkSession | None = None,
) -> bool:
    """True when the new has taken the place of the old. False if it was stopped, or the pipeline runs: then it is built,
    and another call takes it further. Raises PipelineFailed."""
    full = filled(wanted.pipeline, os.environ)
    place = place_of(
        full,
        bootstrap=wanted.bootstrap,
        checkpoint=wanted.checkpoint,
        warehouse=wanted.warehouse,
    )
    try:
        plan = plan_refresh(wanted.pipeline, full, wanted.queries, wanted.start)
    except CannotRefresh as cannot:
        raise PipelineFailed(str(cannot), exit_code=USAGE) from cannot
    here = local_path(place.checkpoint)
    if here is None:
        raise PipelineFailed(f"the checkpoint {place.checkpoint} is not on this machine")
    with session_for(full, place, wanted.master, fetching, spark) as session:
        walk = _Walk(wanted, plan, full, place, here, session)
        try:
            with only_writer(place.checkpoint):
                return walk.build(watch, stop, notice) and walk.take_place(notice)
        except InUse:
            if walk.build(watch, stop, notice):
                notice(
                    f"{', '.join(plan.queries)} is built and waits, as the pipeline runs: stop it, then call refresh "
                    "once more"
                )
            return False


class _Walk:
    def __init__(
        self,
        wanted: Wanted,
        plan: Refresh,
        full: Pipeline,
        place: Place,
        here: Path,
        spark: SparkSession,
    ) -> None:
        self._wanted = wanted
        self._plan = plan
        self._full = full
        self._place = place
        self._here = here
        self._beside = here.with_name(f"{here.name}.refresh")
        self._spark = spark

    def build(self, watch: Watch | None, stop: threading.Event, notice: Notice) -> bool:
        """True when all there was is in it."""
        if any((self._here / swap_note(query)).exists() for query in self._plan.queries):
            return True  # It was whole, and takes its place already.
        if self._is_of_another_file():
            self._forget()
        wanted = self._wanted
        run(
            self._plan.pipeline,
            once=True,
            bootstrap=self._place.bootstrap,
            checkpoint=str(self._beside),
            warehouse=self._place.warehouse,
            folder=wanted.folder,
            file=wanted.file,
            watch=watch,
            stop=stop,
            notice=notice,
            spark=self._spark,
            queries=self._plan.queries,
        )
        return not stop.is_set()

    def take_place(self, notice: Notice) -> bool:
        files = LocalFiles(self._beside)
        for query in self._plan.queries:
            is_begun = (self._here / swap_note(query)).exists()
            if not is_begun and not has_committed(files, query):
                raise PipelineFailed(
                    f"{query}: there was nothing to read, so nothing takes the place of what is there"
                )
        try:
            for query in self._plan.queries:
                self._take_place_of(query, notice)
            self._forget()
        except PipelineFailed:
            raise
        except Exception as error:
            raise failed(error) from error
        return True

    def _take_place_of(self, query: str, notice: Notice) -> None:
        from klamm.pipeline.refresh.swapping import Mark, swap

        note = swap_note(query)
        if not (self._here / note).exists():
            if not (self._beside / query).is_dir():
                return  # Done by an earlier call.
            aside = f".before-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
            LocalFiles(self._here).write_text(note, json.dumps({"aside": aside}))
        aside = json.loads((self._here / note).read_text())["aside"]
        if (self._beside / query).is_dir():
            metadata = json.loads((self._beside / query / "metadata").read_text())
            batch = max(committed_batches(LocalFiles(self._beside), query))
            for rebuilt in self._plan.rebuilt:
                if rebuilt.query == query:
                    mark = Mark(metadata["id"], batch)
                    swap(self._spark, self._place, rebuilt, mark, aside=aside)
            self._exchange(query, aside, notice)
        (self._here / note).unlink()

    def _exchange(self, query: str, aside: str, notice: Notice) -> None:
        """The old progress goes aside, that of the build comes in its place. The folder of the query is the last to move:
        while it is there, all is done once more."""
        old = self._here.with_name(f"{self._here.name}{aside}")
        for part in (kept_file(query), query):
            if (self._here / part).exists() and not (old / part).exists():
                (old / part).parent.mkdir(parents=True, exist_ok=True)
                (self._here / part).rename(old / part)
        # From now on it is the pipeline's own query, which reads the same topics.
        kept = read_kept(LocalFiles(self._beside), query)
        if kept is not None:
            own = definitions_of(self._full, self._wanted.folder)[query]
            write_kept(LocalFiles(self._here), query, replace(kept, definition=own))
        (self._beside / query).rename(self._here / query)
        notice(f"{query}: the new is in place; the progress until now is kept in {old}")

    def _is_of_another_file(self) -> bool:
        if not self._beside.exists():
            return True
        full = filled(self._plan.pipeline, os.environ)
        definitions = definitions_of(full, self._wanted.folder)
        files = LocalFiles(self._beside)
        kept = {query: read_kept(files, query) for query in self._plan.queries}
        return any(
            of_query is None or of_query.definition != definitions[query]
            for query, of_query in kept.items()
        )

    def _forget(self) -> None:
        from klamm.pipeline.refresh.swapping import discard

        for rebuilt in self._plan.rebuilt:
            discard(self._spark, self._place, rebuilt)
        shutil.rmtree(self._beside, ignore_errors=True)
        registry.forget(self._plan.pipeline.name)
        self._forget_group()

    def _forget_group(self) -> None:
        """It was for the eyes of those who watch the build."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        from klamm.pipeline.client import connection

        admin = AdminClient(connection(self._place))
        (deleted,) = admin.delete_consumer_groups([self._plan.pipeline.group]).values()
        with suppress(KafkaException):
            deleted.result()
