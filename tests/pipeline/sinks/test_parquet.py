"""Parquet files: each batch once, for readers that know nothing of Spark, wherever a run broke off."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet

from klamm.pipeline.place import Place
from klamm.pipeline.sinks import parquet
from klamm.pipeline.sinks.making import make_sink
from klamm.pipeline.spec import Delivery, ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOWHERE = Place(bootstrap="", checkpoint="", warehouse="")


def rows(spark: "SparkSession") -> "DataFrame":
    return spark.range(12).selectExpr("id", "concat('d', id % 3) AS day").repartition(2)


def write(spark: "SparkSession", sink: ParquetSink, batch_id: int) -> bool:
    made = make_sink(spark, sink, NOWHERE, Delivery.EXACTLY_ONCE)
    made.open("q1")
    return made.write(rows(spark), batch_id)


def seen(folder: Path) -> list[int]:
    """The ids in every file that is not hidden, as any reader finds them."""
    files = [
        file
        for file in sorted(folder.rglob("*.parquet"))
        if not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]
    return sorted(
        number
        for file in files
        for number in pyarrow.parquet.ParquetFile(file).read(["id"])["id"].to_pylist()
    )


@pytest.mark.parametrize("partition_by", [(), ("day",)])
def test_batch_that_is_repeated_is_there_once(
    spark: "SparkSession", tmp_path: Path, partition_by: tuple[str, ...]
) -> None:
    sink = ParquetSink(parquet=str(tmp_path), partition_by=partition_by)

    told = [write(spark, sink, batch_id) for batch_id in (0, 0, 1)]

    assert told == [True, False, True]
    assert seen(tmp_path) == sorted([*range(12), *range(12)])
    assert spark.read.parquet(str(tmp_path)).count() == 24
    subfolders = {"day=d0", "day=d1", "day=d2"} if partition_by else set()
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith("day")} == subfolders
    names = {file.name.rpartition("-")[0] for file in tmp_path.rglob("part-*.parquet")}
    assert names == {"part-q1-0", "part-q1-1"}


def test_batch_that_broke_off_while_it_moved_goes_on_moving(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = ParquetSink(parquet=str(tmp_path), partition_by=("day",))
    move, moved = parquet._Folder.move, []

    def breaks(self: parquet._Folder, source: str, subfolder: str, name: str) -> None:
        if len(moved) == 2:
            raise KeyboardInterrupt
        moved.append(name)
        move(self, source, subfolder, name)

    with monkeypatch.context() as patch:
        patch.setattr(parquet._Folder, "move", breaks)
        with pytest.raises(KeyboardInterrupt):
            write(spark, sink, 0)
    visible = {file: file.read_bytes() for file in tmp_path.glob("day=*/*.parquet")}
    assert len(visible) == 2

    assert not write(spark, sink, 0), "the rows were not asked for again"
    assert seen(tmp_path) == list(range(12))
    assert {file: file.read_bytes() for file in visible} == visible
    assert not list((tmp_path / parquet.STAGING).iterdir())


def test_batch_that_broke_off_while_it_was_written_is_written_anew(
    spark: "SparkSession", tmp_path: Path
) -> None:
    half = tmp_path / parquet.STAGING / "q1-0" / "part-00000-x.c000.snappy.parquet"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half a file")

    assert write(spark, ParquetSink(parquet=str(tmp_path)), 0)
    assert seen(tmp_path) == list(range(12))
