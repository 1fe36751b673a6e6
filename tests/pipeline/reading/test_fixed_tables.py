"""Tables to join with: where they are, and that a batch sees what is in them then."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from klamm.pipeline.names import delta_path
from klamm.pipeline.place import Place
from klamm.pipeline.sources.tables import open_table
from klamm.pipeline.sources.trouble import SourceFailed
from klamm.pipeline.spec import CatalogTable, FileFormat, FileSource, JdbcSource, TableFormat
from pipeline.reading.records import stream
from support.postgresql import PostgreSql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def place(warehouse: Path, tmp_path: Path) -> Place:
    return Place(bootstrap="b:1", checkpoint=str(tmp_path), warehouse=str(warehouse))


def users(spark: "SparkSession", *names: str) -> "DataFrame":
    return spark.createDataFrame([(name,) for name in names], "user string")


def clicks(spark: "SparkSession", folder: Path) -> "DataFrame":
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema("user string").json(str(folder))


def click(folder: Path, name: str) -> None:
    (folder / f"{name}.json").write_text(f'{{"user": "{name}"}}\n')


@pytest.mark.parametrize("format", list(TableFormat))
def test_each_batch_joins_with_the_table_as_it_is_then(
    spark: "SparkSession", place: Place, tmp_path: Path, format: TableFormat
) -> None:
    name = f"known_{format}"
    if format is TableFormat.ICEBERG:
        users(spark, "ann").writeTo(f"lake.default.{name}").using("iceberg").create()
    else:
        users(spark, "ann").write.format("delta").save(delta_path(name, place.warehouse))
    known = open_table(spark, CatalogTable(name="known", table=name, format=format), place)
    joined = clicks(spark, tmp_path / "in").join(known, "user")
    click(tmp_path / "in", "ann")
    click(tmp_path / "in", "bob")

    before = stream(joined, tmp_path / "query")
    if format is TableFormat.ICEBERG:
        users(spark, "eve").writeTo(f"lake.default.{name}").append()
    else:
        path = delta_path(name, place.warehouse)
        users(spark, "eve").write.format("delta").mode("append").save(path)
    click(tmp_path / "in", "eve")
    after = stream(joined, tmp_path / "query")

    assert [row.user for row in before.rows] == ["ann"]
    assert [row.user for row in after.rows] == ["eve"]


def test_files_and_databases_are_tables(
    spark: "SparkSession", place: Place, tmp_path: Path, postgresql: PostgreSql
) -> None:
    (tmp_path / "users.csv").write_text("name,age\nann,7\n")
    files = FileSource(
        name="a",
        files=str(tmp_path / "users.csv"),
        format=FileFormat.CSV,
        options=(("header", "true"),),
    )
    login = {"user": postgresql.user, "password": postgresql.password}
    database = JdbcSource(name="b", jdbc=postgresql.url, query="SELECT 1 AS one", **login)

    assert [tuple(row) for row in open_table(spark, files, place).collect()] == [("ann", "7")]
    assert [tuple(row) for row in open_table(spark, database, place).collect()] == [(1,)]


def test_table_that_is_not_there_is_told(spark: "SparkSession", place: Place) -> None:
    for table, sentence in (
        (CatalogTable(name="t", table="a.b"), "there is no Iceberg table lake.a.b in "),
        (CatalogTable(name="t", table="b", format=TableFormat.DELTA), "there is no Delta table b"),
        (FileSource(name="t", files="/no/such/*.json"), "there are no files at /no/such/"),
    ):
        with pytest.raises(SourceFailed, match=sentence):
            open_table(spark, table, place)


@pytest.mark.parametrize(
    ("format", "lines"), [("json", '{"ms": 1}\n{"ms": "x"}\n'), ("csv", "1\nx\n")]
)
def test_line_of_a_table_that_cannot_be_read_is_no_row_of_nulls(
    spark: "SparkSession", place: Place, tmp_path: Path, format: str, lines: str
) -> None:
    (tmp_path / f"a.{format}").write_text(lines)
    table = FileSource(name="t", files=str(tmp_path), format=FileFormat(format), schema="ms int")

    with pytest.raises((PySparkException, Py4JJavaError), match="FAILFAST"):
        open_table(spark, table, place).collect()
