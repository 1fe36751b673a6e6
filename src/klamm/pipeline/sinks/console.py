"""The first rows of each batch in the terminal."""

from __future__ import annotations

from pyspark.sql import DataFrame

from klamm.pipeline.spec.model.sinks import ConsoleSink


class Console:
    """Shown again when the batch is repeated: a terminal forgets nothing."""

    def __init__(self, sink: ConsoleSink) -> None:
        self._sink = sink

    def open(self, query_id: str) -> None:
        """It keeps nothing."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        print(f"{self._sink.label}, batch {batch_id}:")
        batch.show(self._sink.rows, truncate=False)
        return True

    def close(self) -> None:
        """It keeps nothing."""
