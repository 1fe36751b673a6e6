"""State of the user's own per key."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.spec import Duration, OutputMode
from klamm.pipeline.steps.state import Expiring
from pipeline.steps.running_steps import a_pipeline, append, fill, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTER = """
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor


class Counter(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "n int")

    def handleInputRows(self, key, rows, timerValues):
        n = (self.count.get()[0] if self.count.exists() else 0) + sum(1 for _ in rows)
        self.count.update((n,))
        yield Row(user=key[0], n=n)

    def close(self):
        pass
"""


def counting(name: str, folder: Path, **more: object) -> Any:
    (folder / "kl_counter.py").write_text(COUNTER)
    step = {"state": "kl_counter:Counter", "by": "user", "schema": "user string, n int", **more}
    return a_pipeline(name, "user string", [{**step, "output": "update"}])


def test_state_of_a_key_is_there_in_the_next_run(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "state", {"user": "ann"}, {"user": "bob"}, {"user": "ann"})
    # Within the hour it is as if it were kept for ever.
    pipeline = counting("state", tmp_path, ttl="1 hour")
    first = rows_of(spark, pipeline, bootstrap, tmp_path, output=OutputMode.UPDATE)
    append(bootstrap, "state", {"user": "ann"})

    second = rows_of(spark, pipeline, bootstrap, tmp_path, output=OutputMode.UPDATE)

    assert first == [("ann", 2), ("bob", 1)]
    assert second == [("ann", 3)]


class Handle:
    """Spark's handle, as far as a processor's init knows it."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def getValueState(self, *words: object) -> None:
        self.asked.append(words)

    def getListState(self, *words: object) -> None:
        self.asked.append(words)

    def getMapState(self, *words: object) -> None:
        self.asked.append(words)

    def deleteIfExists(self, name: str) -> str:
        return f"{name} deleted"


class Asking:
    """A processor that asks for all kinds of state."""

    def init(self, handle: Any) -> None:
        handle.getValueState("a", "n int")
        handle.getListState("b", "n int", 5)
        handle.getMapState("c", "k int", "n int")
        assert handle.deleteIfExists("d") == "d deleted"


def test_time_to_live_is_that_of_all_state_that_asks_for_no_other() -> None:
    handle = Handle()

    Expiring(Asking(), Duration.of("1 minute")).init(handle)  # type: ignore[arg-type]

    assert handle.asked == [
        ("a", "n int", 60_000),
        ("b", "n int", 5),
        ("c", "k int", "n int", 60_000),
    ]
