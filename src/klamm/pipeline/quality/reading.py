"""Sources and steps as views that hold good rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from klamm.pipeline.place import Place
from klamm.pipeline.quality.expectations import counted, only_good, with_verdict
from klamm.pipeline.quality.letters import expectation_reason, letters, malformed_reason
from klamm.pipeline.quality.policy import MALFORMED, Policy, policy_of
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, REASON_COLUMN, SOURCE_COLUMN
from klamm.pipeline.sources.landing import Landing
from klamm.pipeline.sources.opening import OpenSource
from klamm.pipeline.sources.origin import origin_words
from klamm.pipeline.spec import Expectation, JdbcSource, Otherwise, Pipeline, Source, TriggerWhen

# Names of counts in a query's progress.
READ = "read."

_SHOWN_CHARACTERS = 300
# A step's result may have any column but, one hopes, this one.
_VERDICT = "_klamm_verdict"


@dataclass(frozen=True, slots=True)
class Checked:
    """`bad` has the columns key, value and headers of dead letters; None where there can be none."""

    good: DataFrame
    bad: DataFrame | None
    # Of a database: goes on by itself while queries run; its `trouble` says why no new rows come.
    landing: Landing | None = None


def read_checked(spark: SparkSession, pipeline: Pipeline, source: Source, place: Place) -> Checked:
    """The source as a stream. Both parts read it, each in the query that it becomes part of."""
    policy = policy_of(pipeline, source)
    # Spark counts nothing in a continuous query.
    is_counted = pipeline.trigger.when is not TriggerWhen.CONTINUOUS
    name = f"{READ}{source.name}" if is_counted else None
    opened = OpenSource(spark, source, place)
    rows = _judged(opened.rows(counted_as=name), policy)
    good = _good(rows, pipeline, source, policy, is_counted=is_counted)
    watermark = pipeline.watermark_of(source)
    if watermark is not None:
        good = good.withWatermark(watermark.column, str(watermark.delay))
    if opened.landing is not None and _grows(source):
        opened.landing.keep_landing(_seconds_between_batches(pipeline))
    if not policy.keeps_dead_letters:
        return Checked(good, None, opened.landing)
    raw = _judged(opened.rows(keep_raw=True, counted_as=name), policy)
    return Checked(
        good, letters(raw, pipeline, source, policy, is_counted=is_counted), opened.landing
    )


def _grows(source: Source) -> bool:
    return isinstance(source, JdbcSource) and source.incremental is not None


def _seconds_between_batches(pipeline: Pipeline) -> float:
    interval = pipeline.trigger.interval
    return max(1.0, interval.ms / 1000) if interval is not None else 1.0


def check_step(rows: DataFrame, view: str, expectations: Sequence[Expectation]) -> DataFrame:
    """A step's result without the rows that do not pass; one that must pass ends the query."""
    nothing = f.lit(None).cast("string")
    judged = with_verdict(rows, _VERDICT, expectations, first=nothing)
    dropped = [each.name for each in expectations if each.otherwise is Otherwise.DROP]
    failing = [each for each in expectations if each.otherwise is not Otherwise.DROP]
    judged = counted(judged, _VERDICT, {name: name for name in dropped})
    if not failing:
        return only_good(judged, _VERDICT, [])
    shown = f.substring(f.to_json(f.struct(*_all(rows))), 1, _SHOWN_CHARACTERS)
    where = f.concat(f.lit(f"a row of the view {view}: "), shown)
    return only_good(judged, _VERDICT, [(each.name, _failed(each, where)) for each in failing])


def _judged(rows: DataFrame, policy: Policy) -> DataFrame:
    """`_corrupt` becomes the name of the first check that the row does not pass."""
    is_malformed = f.when(f.col(CORRUPT_COLUMN).isNotNull(), f.lit(MALFORMED))
    rows = rows.withColumn(REASON_COLUMN, f.col(CORRUPT_COLUMN))
    return with_verdict(rows, CORRUPT_COLUMN, policy.expectations, first=is_malformed)


def _good(
    rows: DataFrame, pipeline: Pipeline, source: Source, policy: Policy, *, is_counted: bool
) -> DataFrame:
    # Expectations have names of their own, but every source may drop what is malformed.
    is_alone = len(pipeline.sources) == 1
    malformed = MALFORMED if is_alone else f"{source.name}.{MALFORMED}"
    counts = {name: name for name in policy.names(Otherwise.DROP)}
    if MALFORMED in counts:
        counts[MALFORMED] = malformed
    where = origin_words(source, f.col(SOURCE_COLUMN))
    sentences = [(e.name, _failed(e, where)) for e in policy.expectations if _fails(e)]
    if policy.malformed is Otherwise.FAIL:
        sentences.append((MALFORMED, _undecodable(source, where)))
    if is_counted:
        rows = counted(rows, CORRUPT_COLUMN, counts)
    return only_good(rows, CORRUPT_COLUMN, sentences).drop(SOURCE_COLUMN, REASON_COLUMN)


def _fails(expectation: Expectation) -> bool:
    return expectation.otherwise is Otherwise.FAIL


def _failed(expectation: Expectation, where: Column) -> Column:
    return f.concat(
        f.lit(f"expectation {expectation.name} ({expectation_reason(expectation)}) failed at "),
        where,
        f.lit("; drop or dead_letter under otherwise would go on without such records"),
    )


def _undecodable(source: Source, where: Column) -> Column:
    return f.concat(
        f.lit(f"source {source.name}: "),
        where,
        f.lit(" "),
        malformed_reason(source),
        f.lit("; a dead_letter topic, or malformed: drop, goes on without it"),
    )


def _all(rows: DataFrame) -> list[Column]:
    return [f.col(f"`{name.replace('`', '``')}`") for name in rows.columns]
