"""Checks on rows: which is the first that a row does not pass, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark import SparkContext
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.classic.column import Column as ClassicColumn

from klamm.pipeline.failures.trouble import USAGE, PipelineFailed, sentence_of
from klamm.pipeline.spec import Expectation

DROPPED = "dropped."


def with_verdict(
    rows: DataFrame, column: str, expectations: Sequence[Expectation], *, first: Column
) -> DataFrame:
    """Adds the name of the first check that a row does not pass; NULL for a good one. `first` decides before all."""
    verdict = first
    for each in expectations:
        passes = _checked_condition(rows, each)
        verdict = f.coalesce(verdict, f.when(~passes, f.lit(each.name)))
    return rows.withColumn(column, verdict)


def counted(rows: DataFrame, column: str, names: Mapping[str, str]) -> DataFrame:
    """Counts the rows of each verdict, under a name that comes with the query's progress."""
    for verdict, name in names.items():
        count = f.count_if(f.col(column) == verdict)
        rows = rows.observe(f"{DROPPED}{name}", count.alias("rows"))
    return rows


def only_good(rows: DataFrame, column: str, sentences: Sequence[tuple[str, Column]]) -> DataFrame:
    """Rows without a verdict. A row whose verdict has a sentence ends the query with it."""
    is_good = f.col(column).isNull()
    for name, sentence in sentences:
        failed = f.raise_error(sentence).cast("boolean")
        is_good = f.when(f.col(column) == name, failed).otherwise(is_good)
    return rows.where(is_good).drop(column)


def _checked_condition(rows: DataFrame, expectation: Expectation) -> Column:
    """The check as a condition that is never NULL. Raises PipelineFailed if Spark cannot read it."""
    try:
        passes = f.coalesce(_tried(f.expr(expectation.check)), f.lit(False))
        kind = rows.select(f.expr(expectation.check)).schema[0].dataType.simpleString()
    except (AnalysisException, ParseException) as error:
        raise PipelineFailed(
            f"expectation {expectation.name}: {sentence_of(error)}", exit_code=USAGE
        ) from error
    if kind not in ("boolean", "void"):
        raise PipelineFailed(
            f"expectation {expectation.name}: the check gives {kind}, not true or false",
            exit_code=USAGE,
        )
    return passes


def _tried(condition: Column) -> Column:
    """NULL where the condition cannot be computed: a division by zero, text that is no number.

    A record of which a check cannot even be asked does not pass it; it must not end the run. Spark has this expression
    under each of its try_ functions, but SQL cannot name it.
    """
    context = SparkContext._active_spark_context
    assert context is not None
    assert context._jvm is not None
    spark = context._jvm.org.apache.spark.sql
    expression = spark.classic.ExpressionUtils.expression(condition._jc)
    tried = spark.catalyst.expressions.TryEval(expression)
    return ClassicColumn(spark.classic.ExpressionUtils.column(tried))
