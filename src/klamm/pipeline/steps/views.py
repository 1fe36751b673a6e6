"""All views of a pipeline in one Spark session: sources, checked; tables; functions; and the steps, one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from klamm.pipeline.failures.trouble import USAGE, PipelineFailed, failed
from klamm.pipeline.place import Place
from klamm.pipeline.quality.reading import check_step, read_checked
from klamm.pipeline.sources.tables import open_table
from klamm.pipeline.spec import (
    PREVIOUS,
    ArrowStep,
    DedupeStep,
    Function,
    Pipeline,
    PythonStep,
    SqlStep,
    StateStep,
    Step,
)
from klamm.pipeline.steps.loading import NotThere, carry_to_workers, load, look_first_in
from klamm.pipeline.steps.state import apply_state, prepare_state

# Spark keeps a watermark with the column that has it.
_WATERMARK = "spark.watermarkDelayMs"
_ROW = "_klamm_row"


@dataclass(slots=True)
class Views:
    """What later steps and sinks read, by name; SQL does not tell capitals from small letters."""

    spark: SparkSession
    # The bad records of those sources whose dead letters are kept.
    dead_letters: dict[str, DataFrame] = field(default_factory=dict)
    _rows: dict[str, DataFrame] = field(default_factory=dict)

    def add(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView(name)
        self._rows[name.lower()] = rows

    def rows(self, name: str) -> DataFrame:
        return self._rows[name.lower()]


def make_views(
    spark: SparkSession, pipeline: Pipeline, place: Place, *, folder: Path | None = None
) -> Views:
    """Raises PipelineFailed, which names the section that is to blame. Nothing is read yet but what schemas need.

    `folder` is where the user's modules lie. The session is the pipeline's own: two pipelines have views of one name.
    """
    if folder is not None:
        look_first_in(folder)
    if any(isinstance(step, StateStep) for step in pipeline.steps):
        prepare_state(spark, folder)
    views = Views(spark)
    for index, source in enumerate(pipeline.sources):
        with _blamed(f"sources[{index}] (view {source.name})"):
            checked = read_checked(spark, pipeline, source, place)
            views.add(source.name, checked.good)
            if checked.bad is not None:
                views.dead_letters[source.name] = checked.bad
    for index, table in enumerate(pipeline.tables):
        with _blamed(f"tables[{index}] (view {table.name})"):
            views.add(table.name, open_table(spark, table, place))
    for index, function in enumerate(pipeline.functions):
        with _blamed(f"functions[{index}] ({function.name})"):
            load(function.arrow)
    # A function takes along what the workers are to import when it is registered, so before that, and again after the
    # steps, which may have imported more.
    if folder is not None:
        carry_to_workers(spark, folder)
    for function in pipeline.functions:
        _register(spark, function)
    for index, step in enumerate(pipeline.steps):
        name = pipeline.view_of(index)
        with _blamed(f"steps[{index}] (view {name})"):
            views.add(name, _result(views, pipeline, index, step))
    if folder is not None:
        carry_to_workers(spark, folder)
    return views


def _result(views: Views, pipeline: Pipeline, index: int, step: Step) -> DataFrame:
    before = views.rows(pipeline.input_of(index))
    rows = _apply(views.spark, before, step)
    watermark = getattr(step, "watermark", None)
    if watermark is not None:
        rows = rows.withWatermark(watermark.column, str(watermark.delay))
    name = pipeline.view_of(index)
    expectations = [each for each in pipeline.expect if (each.on or "").lower() == name.lower()]
    return check_step(rows, name, expectations) if expectations else rows


def _apply(spark: SparkSession, before: DataFrame, step: Step) -> DataFrame:
    match step:
        case SqlStep():
            before.createOrReplaceTempView(PREVIOUS)
            return spark.sql(step.sql)
        case PythonStep():
            return _made_by_python(step, before)
        case ArrowStep():
            return before.mapInArrow(load(step.arrow), step.schema)
        case DedupeStep():
            columns = list(step.dedupe)
            if step.forever:
                return _first_for_ever(before, columns)
            return before.dropDuplicatesWithinWatermark(columns)
        case StateStep():
            return apply_state(before, step)


def _first_for_ever(before: DataFrame, columns: list[str]) -> DataFrame:
    """Also of late rows. Spark would drop those, but only where a later step reads the column of the watermark; inside of a
    row it does not see it, and afterwards the column is what it was."""
    if not any(_WATERMARK in each.metadata for each in before.schema):
        return before.dropDuplicates(columns)
    names = [f"_klamm_key_{number}" for number in range(len(columns))]
    keys = [
        f.col(f"`{column.replace('`', '``')}`").alias(name, metadata={})
        for column, name in zip(columns, names, strict=True)
    ]
    rows = before.select(*keys, f.struct("*").alias(_ROW))
    return rows.dropDuplicates(names).select(f"{_ROW}.*")


def _made_by_python(step: PythonStep, before: DataFrame) -> DataFrame:
    rows = load(step.python)(before, **dict(step.arguments))
    if not isinstance(rows, DataFrame):
        raise NotThere(f"{step.python} returned {type(rows).__name__}, not a DataFrame")
    return rows


def _register(spark: SparkSession, function: Function) -> None:
    loaded = load(function.arrow)
    with warnings.catch_warnings():
        # Spark would rather see type hints; here the file says what the function is.
        warnings.simplefilter("ignore", UserWarning)
        udf = arrow_udf(loaded, function.returns, ArrowUDFType.SCALAR)
    spark.udf.register(function.name, udf)


@contextmanager
def _blamed(section: str) -> Iterator[None]:
    """What fails inside is told as that section's fault."""
    try:
        yield
    except NotThere as missing:
        raise PipelineFailed(f"{section}: {missing}", exit_code=USAGE) from missing
    except Exception as error:
        raise failed(error, prefix=f"{section}: ") from error
