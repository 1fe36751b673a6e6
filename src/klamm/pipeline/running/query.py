"""One streaming query whose batches go into sinks, all of them once per batch."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from klamm.pipeline.running.progress import WRITTEN
from klamm.pipeline.sinks.sink import Sink
from klamm.pipeline.spec import OutputMode, Trigger, TriggerWhen

START_SECONDS = 120.0
TICK_SECONDS = 1
# A look at the query whether it is between two batches; each costs a call into Java.
_IDLE_LOOK_SECONDS = 0.05

# Takes a progress of Spark's as JSON.
Watcher: TypeAlias = Callable[[str], None]
# Takes a batch's number before anything of it is written.
Check: TypeAlias = Callable[[int], None]


class RunningQuery:
    """A started query with its sinks."""

    def __init__(self, query: StreamingQuery, name: str, batches: Batches | None = None) -> None:
        self.name = name
        self.query = query
        # None where the rows go through a sink of Spark's own.
        self._batches = batches
        # The time and the batch of the last report that was given on.
        self._last_seen: tuple[str, int] | None = None

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    def failure(self) -> BaseException | None:
        """Why it ended; None while it runs, after it did all there was, and when it was stopped."""
        if self.is_active:
            return None
        told = self.query.exception()
        batches = self._batches
        if told is None or (batches is not None and batches.gave_way):
            return None
        # What a sink raised was quoted by Java and quoted again; here it is as it was.
        return batches.error if batches is not None and batches.error is not None else told

    def news(self) -> list[str]:
        """What Spark has reported since the last call, in order and as JSON: a batch each, or that it waits for one."""
        found: list[str] = []
        last_seen = self._last_seen
        # Read from the end, and on the other side: each report that is brought here whole costs milliseconds.
        for progress in reversed(self.query._jsq.recentProgress()):
            seen = (progress.timestamp(), progress.batchId())
            if not found:
                self._last_seen = seen
            if seen == last_seen:
                break
            found.append(str(progress.json()))
        return found[::-1]

    def wait(self, *watchers: Watcher) -> None:
        """Until it ends: a run of what is there by itself, any other by `stop` or an error, which is raised here.

        Watchers are told once a second how far it is, and at the end.
        """
        try:
            while self.is_active:
                self.query._jsq.awaitTermination(TICK_SECONDS * 1000)
                self._tell(watchers)
            self._tell(watchers)
        except Exception:
            if self.failure() is None:
                raise
        finally:
            self.close()
        if (failure := self.failure()) is not None:
            raise failure

    def stop(self, *, within_seconds: float = 0.0) -> None:
        """The batch that runs is finished if it takes no longer than that; else it is given up, and the next run
        repeats it. No later batch begins."""
        if self._batches is not None:
            self._batches.is_ending.set()
        deadline = time.monotonic() + within_seconds
        while self.is_active and not self._is_idle() and time.monotonic() < deadline:
            time.sleep(_IDLE_LOOK_SECONDS)
        if self._batches is not None:
            self._batches.is_given_up.set()
        self.query.stop()

    def close(self) -> None:
        """Gives back what the sinks hold."""
        if self._batches is not None:
            self._batches.close()

    def _tell(self, watchers: Sequence[Watcher]) -> None:
        for progress in self.news():
            for watch in watchers:
                watch(progress)

    def _is_idle(self) -> bool:
        return not self.query.status["isTriggerActive"]


def start_batches(
    rows: DataFrame,
    sinks: Sequence[Sink],
    *,
    name: str,
    checkpoint: str,
    output: OutputMode = OutputMode.APPEND,
    trigger: Trigger | None = None,
    check: Check | None = None,
) -> RunningQuery:
    """Each batch goes into the sinks, one after the other. `check` is asked before each and raises if it must not."""
    batches = Batches(sinks, check)
    # It prints with a traceback what a sink raises; that is told by whoever asks for the failure.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    # The sinks are functions to Spark, which cannot tell how much goes through one.
    counted = rows.observe(WRITTEN, f.count(f.lit(1)).alias("rows"))
    writer = counted.writeStream.outputMode(output.value).foreachBatch(batches.write)
    query = _started(writer, name, checkpoint, trigger or Trigger())
    batches.query_id.set_result(str(query.id))
    return RunningQuery(query, name, batches)


def start_continuous(
    rows: DataFrame,
    *,
    format: str,
    options: dict[str, str],
    name: str,
    checkpoint: str,
    trigger: Trigger,
) -> RunningQuery:
    """Rows go through a sink of Spark's own as they come: it knows no batches, and so no function for them."""
    writer = rows.writeStream.format(format).options(**options)
    return RunningQuery(_started(writer, name, checkpoint, trigger), name)


def _started(
    writer: DataStreamWriter, name: str, checkpoint: str, trigger: Trigger
) -> StreamingQuery:
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    interval = str(trigger.interval or "0 seconds")
    match trigger.when:
        case TriggerWhen.EVERY:
            writer = writer.trigger(processingTime=interval)
        case TriggerWhen.ONCE:
            writer = writer.trigger(once=True)
        case TriggerWhen.AVAILABLE_NOW:
            writer = writer.trigger(availableNow=True)
        case TriggerWhen.CONTINUOUS:
            writer = writer.trigger(continuous=interval)
    return writer.start()


class GaveWay(Exception):
    """A batch came after the query was asked to end. Nothing of it was written; the next run has it again."""


class BatchFailed(Exception):
    """What Spark hears of a failure, which is kept here as it was. Spark looks in the text for the name of an interruption, with
    a regular expression that needs a stack as deep as the text is long: a Java error's own would print a thousand lines."""


class Batches:
    """What Spark calls with each batch."""

    def __init__(self, sinks: Sequence[Sink], check: Check | None = None) -> None:
        # A batch may come before start() has given us the query, and the sinks need its id.
        self.query_id: Future[str] = Future()
        self.is_ending = threading.Event()
        # What the batch that runs may still raise is because it was stopped.
        self.is_given_up = threading.Event()
        self.error: Exception | None = None
        self._sinks = sinks
        self._check = check
        self._are_open = False

    @property
    def gave_way(self) -> bool:
        return isinstance(self.error, GaveWay)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        try:
            if self.is_ending.is_set():
                raise GaveWay(f"batch {batch_id}")
            if self._check is not None:
                self._check(batch_id)
            self._write(batch, batch_id)
        except Exception as error:  # noqa: BLE001 - kept, and raised by whoever asks for the failure
            is_given_up = self.is_given_up.is_set()
            self.error = GaveWay(f"batch {batch_id}") if is_given_up else error
            raise BatchFailed(type(error).__name__) from None

    def close(self) -> None:
        if self._are_open:
            self._are_open = False
            for sink in self._sinks:
                sink.close()

    def _write(self, batch: DataFrame, batch_id: int) -> None:
        if not self._are_open:
            query_id = self.query_id.result(START_SECONDS)
            self._are_open = True
            for sink in self._sinks:
                sink.open(query_id)
        # Several sinks must not compute the batch several times, nor see different rows of it.
        is_shared = len(self._sinks) > 1
        if is_shared:
            batch.persist()
        try:
            were_read = [sink.write(batch, batch_id) for sink in self._sinks]
            if not any(were_read):
                # All sinks had this batch. Spark keeps the state of a batch only if its rows are computed, and without
                # it no batch could follow.
                batch.write.format("noop").mode("overwrite").save()
        finally:
            if is_shared:
                batch.unpersist()
