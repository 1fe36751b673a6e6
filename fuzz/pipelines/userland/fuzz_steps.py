"""What the drawn pipelines call, as a user would have it beside the file."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor


def without(rows: DataFrame, every: str) -> DataFrame:
    return rows.where(f"seq % {every} <> 0 OR seq IS NULL")


def loud(notes: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.compute.utf8_upper(notes)


def halves(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The same rows in smaller batches, and without those that have no n."""
    for batch in batches:
        kept = batch.filter(pyarrow.compute.is_valid(batch.column("n")))
        middle = kept.num_rows // 2
        yield kept.slice(0, middle)
        yield kept.slice(middle)


class Numbering(StatefulProcessor):
    """Numbers the rows of each key."""

    def init(self, handle: Any) -> None:
        self._count = handle.getValueState("count", "n bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        count = self._count.get()[0] if self._count.exists() else 0
        for _ in rows:
            count += 1
            yield Row(user=key[0], c=count)
        self._count.update((count,))

    def close(self) -> None:
        pass
