"""From a pipeline to its running queries, in a session that is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.client import for_spark
from klamm.pipeline.failures.trouble import failed
from klamm.pipeline.identity.guard import Guard
from klamm.pipeline.place import Place
from klamm.pipeline.plan import PlannedQuery, dead_letters_name, plan_of
from klamm.pipeline.running.query import Check, RunningQuery, start_batches, start_continuous
from klamm.pipeline.sinks.making import make_dead_letter_sink, make_sink
from klamm.pipeline.sinks.records import as_records
from klamm.pipeline.spec import ConsoleSink, Pipeline, Sink, TopicSink, Trigger, TriggerWhen
from klamm.pipeline.steps.state import end_with_the_data
from klamm.pipeline.steps.views import Views, make_views

# A query that does not end is left behind; by default Spark would wait for ever.
_STOP_TIMEOUT = "20s"
_ALL_THERE_IS = Trigger(TriggerWhen.AVAILABLE_NOW, None)


@dataclass(frozen=True, slots=True)
class Startable:
    """A query that can be started, and after a failure started again: it goes on from its checkpoint."""

    name: str
    start: Callable[[], RunningQuery]
    # Raises if the topics are not those of its positions: then that is why it failed.
    check: Callable[[], None] | None = None


def start(
    spark: SparkSession,
    pipeline: Pipeline,
    place: Place,
    *,
    once: bool = False,
    folder: Path | None = None,
) -> list[RunningQuery]:
    """All queries of the pipeline. `once` takes what is there now and ends, whatever the trigger says.

    Raises PipelineFailed; then none of them runs.
    """
    running: list[RunningQuery] = []
    try:
        for each in prepare(spark, pipeline, place, once=once, folder=folder):
            running.append(each.start())
    except BaseException:
        for query in running:
            query.stop()
            query.close()
        raise
    return running


def prepare(
    spark: SparkSession,
    pipeline: Pipeline,
    place: Place,
    *,
    once: bool = False,
    folder: Path | None = None,
    guard: Guard | None = None,
) -> list[Startable]:
    """The queries before they run. Dead letters come first: a record that fails a check should not be seen only in
    what is missing."""
    own = spark.newSession()
    own.conf.set("spark.sql.streaming.stopTimeout", _STOP_TIMEOUT)
    for key, value in pipeline.options:
        # Those that only a new SparkContext can take were given to the one that made it.
        if own.conf.isModifiable(key):
            own.conf.set(key, value)
    views = make_views(own, pipeline, place, folder=folder)
    trigger = _ALL_THERE_IS if once else pipeline.trigger
    if trigger.when in (TriggerWhen.ONCE, TriggerWhen.AVAILABLE_NOW):
        end_with_the_data(own, pipeline)
    plan = plan_of(pipeline)
    letters = [
        _dead_letters(pipeline, place, source, bad, trigger, guard)
        for source, bad in views.dead_letters.items()
    ]
    return [*letters, *(_query(views, query, place, trigger, guard) for query in plan.queries)]


def checkpoint_of_query(place: Place, name: str) -> str:
    return f"{place.checkpoint.rstrip('/')}/{name}"


def _dead_letters(
    pipeline: Pipeline,
    place: Place,
    source: str,
    bad: DataFrame,
    trigger: Trigger,
    guard: Guard | None,
) -> Startable:
    name = dead_letters_name(source)
    assert pipeline.dead_letter is not None, "who keeps bad records has a topic for them"
    topic = pipeline.dead_letter

    def begin(check: Check | None) -> RunningQuery:
        sink = make_dead_letter_sink(place, topic, name)
        return start_batches(
            bad,
            [sink],
            name=name,
            checkpoint=checkpoint_of_query(place, name),
            trigger=trigger,
            check=check,
        )

    return _startable(name, begin, guard)


def _query(
    views: Views, query: PlannedQuery, place: Place, trigger: Trigger, guard: Guard | None
) -> Startable:
    rows = views.rows(query.view)
    checkpoint = checkpoint_of_query(place, query.name)

    def begin(check: Check | None) -> RunningQuery:
        if trigger.when is TriggerWhen.CONTINUOUS:
            return _continuous(rows, query, place, trigger)
        made = [make_sink(views.spark, each.sink, place, each.delivery) for each in query.sinks]
        return start_batches(
            rows,
            made,
            name=query.name,
            checkpoint=checkpoint,
            output=query.output,
            trigger=trigger,
            check=check,
        )

    return _startable(query.name, begin, guard)


def _startable(
    name: str, begin: Callable[[Check | None], RunningQuery], guard: Guard | None
) -> Startable:
    """Its topics are looked at before it starts and before each of its batches."""
    of_query = guard.of(name) if guard is not None else None

    def start_it() -> RunningQuery:
        if of_query is None:
            return begin(None)
        of_query.check_start()
        return begin(of_query.check_batch)

    check = of_query.check_cause if of_query is not None else None
    return Startable(name, _blaming(name, start_it), check)


def _continuous(
    rows: DataFrame, query: PlannedQuery, place: Place, trigger: Trigger
) -> RunningQuery:
    """Through Spark's own sinks, which alone know how to write without batches."""
    [planned] = query.sinks
    format, options = _spark_sink(planned.sink, place)
    return start_continuous(
        as_records(rows, planned.sink) if isinstance(planned.sink, TopicSink) else rows,
        format=format,
        options=options,
        name=query.name,
        checkpoint=checkpoint_of_query(place, query.name),
        trigger=trigger,
    )


def _spark_sink(sink: Sink, place: Place) -> tuple[str, dict[str, str]]:
    if isinstance(sink, TopicSink):
        to = {"kafka.bootstrap.servers": place.bootstrap, "topic": sink.topic}
        return "kafka", {**for_spark({**place.client, **dict(sink.options)}), **to}
    assert isinstance(sink, ConsoleSink), "the file's check lets no other sink through"
    return "console", {"numRows": str(sink.rows), "truncate": "false"}


def _blaming(name: str, begin: Callable[[], RunningQuery]) -> Callable[[], RunningQuery]:
    """What fails at the start is told with the query's name."""

    def start_it() -> RunningQuery:
        try:
            return begin()
        except Exception as error:
            raise failed(error, prefix=f"{name}: ") from error

    return start_it
