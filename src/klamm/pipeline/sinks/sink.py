"""What every sink is to the runner."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import DataFrame


class Sink(Protocol):
    def open(self, query_id: str) -> None:
        """Before the first batch of a run. The id is the checkpoint's: the same as long as the checkpoint lives."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        """True if it went through all rows, False if not: an earlier run had them, or had written this batch."""

    def close(self) -> None: ...
