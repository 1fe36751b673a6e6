"""State of the user's own per key: a StatefulProcessor for Spark's transformWithState, which is given Rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from klamm.pipeline.spec import Duration, OutputMode, Pipeline, StateStep, Timers
from klamm.pipeline.steps.loading import NotThere, load

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_TIME_MODES = {
    Timers.NONE: "None",
    Timers.PROCESSING: "ProcessingTime",
    Timers.EVENT: "EventTime",
}
_OUTPUT_MODES = {OutputMode.APPEND: "Append", OutputMode.UPDATE: "Update"}


def prepare_state(spark: SparkSession, folder: Path | None) -> None:
    """transformWithState keeps its state in RocksDB and nowhere else. It also starts a Python beside the driver, which
    is not given the files that the workers are: it looks for the user's modules in the folder itself."""
    spark.conf.set(_STORE, _ROCKSDB)
    if folder is not None:
        spark.sparkContext.environment["PYTHONPATH"] = str(folder.absolute())


def end_with_the_data(spark: SparkSession, pipeline: Pipeline) -> None:
    """For a run of what is there: where a state follows the machine's clock, Spark plans one batch without data after
    the other, for timers that may have rung, and the run would never end."""
    if any(isinstance(step, StateStep) and _uses_the_clock(step) for step in pipeline.steps):
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")


def _uses_the_clock(step: StateStep) -> bool:
    return step.timers is Timers.PROCESSING or step.ttl is not None


def apply_state(rows: DataFrame, step: StateStep) -> DataFrame:
    if step.output not in _OUTPUT_MODES:
        raise NotThere("a state gives on new rows (append) or changed ones (update), never all")
    timers = step.timers
    processor = load(step.state)()
    if step.ttl is not None:
        if timers is Timers.EVENT:
            raise NotThere("ttl follows the machine's clock and timers: event the watermark's")
        timers = Timers.PROCESSING
        processor = Expiring(processor, step.ttl)
    keys = (rows[f"`{name}`"] for name in step.by)
    return rows.groupBy(*keys).transformWithState(
        processor, step.schema, _OUTPUT_MODES[step.output], _TIME_MODES[timers]
    )


class Expiring(StatefulProcessor):
    """The user's processor, whose every state is forgotten after a while unless it asks for another time itself."""

    def __init__(self, inner: StatefulProcessor, ttl: Duration) -> None:
        self._inner = inner
        self._ttl_ms = ttl.ms

    def init(self, handle: Any) -> None:
        self._inner.init(ExpiringHandle(handle, self._ttl_ms))  # type: ignore[arg-type]

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        return self._inner.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        return self._inner.handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        self._inner.close()


class ExpiringHandle:
    """Spark's handle with another default for the time to live."""

    def __init__(self, handle: Any, ttl_ms: int) -> None:
        self._handle = handle
        self._ttl_ms = ttl_ms

    def getValueState(  # noqa: N802
        self,
        stateName: str,  # noqa: N803
        schema: StructType | str,
        ttlDurationMs: int | None = None,  # noqa: N803
    ) -> Any:
        return self._handle.getValueState(stateName, schema, ttlDurationMs or self._ttl_ms)

    def getListState(  # noqa: N802
        self,
        stateName: str,  # noqa: N803
        schema: StructType | str,
        ttlDurationMs: int | None = None,  # noqa: N803
    ) -> Any:
        return self._handle.getListState(stateName, schema, ttlDurationMs or self._ttl_ms)

    def getMapState(  # noqa: N802
        self,
        stateName: str,  # noqa: N803
        userKeySchema: StructType | str,  # noqa: N803
        valueSchema: StructType | str,  # noqa: N803
        ttlDurationMs: int | None = None,  # noqa: N803
    ) -> Any:
        return self._handle.getMapState(
            stateName, userKeySchema, valueSchema, ttlDurationMs or self._ttl_ms
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)
