"""The terminal: the first rows, with the batch's number."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.place import Place
from klamm.pipeline.sinks.making import make_sink
from klamm.pipeline.spec import ConsoleSink, Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_console_shows_the_first_rows_of_a_batch(
    spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(bootstrap="", checkpoint="", warehouse="")
    console = make_sink(spark, ConsoleSink(console=True, rows=2), place, Delivery.AT_LEAST_ONCE)
    console.open("query")

    console.write(spark.range(5), 3)

    shown = capsys.readouterr().out
    assert "console, batch 3:" in shown
    assert "|0  |\n|1  |\n" in shown
    assert "only showing top 2 rows" in shown
