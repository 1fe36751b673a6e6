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
        # Several sinks share what is computed once.
        is_alone = not batch.is_cached
        if is_alone:
            batch.persist()
        try:
            print(f"{self._sink.label}, batch {batch_id}:")
            batch.show(self._sink.rows, truncate=False)
            if is_alone:
                # Spark computes no more than it shows, but it keeps state only of a batch that was computed as a whole.
                batch.write.format("noop").mode("overwrite").save()
        finally:
            if is_alone:
                batch.unpersist()
        return is_alone

    def close(self) -> None:
        """It keeps nothing."""
