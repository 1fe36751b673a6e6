"""Rows into PostgreSQL: one per key, whoever repeats what; and no password in any text."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.place import Place
from klamm.pipeline.sinks.making import make_sink
from klamm.pipeline.sinks.trouble import SinkFailed, SinkUnreachable
from klamm.pipeline.spec import Delivery, JdbcSink, WriteMode
from support.postgresql import PostgreSql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOWHERE = Place(bootstrap="", checkpoint="", warehouse="")
STATS = "page string, n int, cost decimal(8,2)"


def upsert(server: PostgreSql, table: str, **changes: object) -> JdbcSink:
    facts = {"jdbc": server.url, "user": server.user, "password": server.password, "table": table}
    facts |= {"mode": WriteMode.UPSERT, "key": ("page",)}
    return JdbcSink(**{**facts, **changes})  # type: ignore[arg-type]


def write(spark: "SparkSession", sink: JdbcSink, batch: "DataFrame", batch_id: int) -> None:
    made = make_sink(spark, sink, NOWHERE, Delivery.AT_LEAST_ONCE)
    made.open("query")
    made.write(batch, batch_id)


def stats(spark: "SparkSession", *rows: tuple[str | None, int | None]) -> "DataFrame":
    return spark.createDataFrame([(page, n, Decimal("1.50")) for page, n in rows], STATS)


def tables(server: PostgreSql) -> list[str]:
    found = server.run(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    return [name for [name] in found]


@pytest.mark.usefixtures("spilling")
def test_upsert_makes_the_table_and_keeps_the_last_row_of_each_key(
    spark: "SparkSession", postgresql: PostgreSql
) -> None:
    sink = upsert(postgresql, "made")
    few = stats(spark, ("/a", 1), ("/a", 2), ("/b", 1))
    # Read by several tasks, and more than a sort keeps in memory.
    many = spark.range(0, 3000, 1, 4).selectExpr("'/many'", "INT(id)", "1.50")

    write(spark, sink, few.union(many), 0)
    for _ in range(2):
        write(spark, sink, stats(spark, ("/b", 5), ("/c", None)), 1)

    assert postgresql.run("SELECT * FROM made ORDER BY page") == [
        ("/a", "2", "1.50"),
        ("/b", "5", "1.50"),
        ("/c", "", "1.50"),
        ("/many", "2999", "1.50"),
    ]
    assert not [name for name in tables(postgresql) if name.startswith("klamm_")]


def test_upsert_keeps_the_types_and_the_other_columns_of_a_table_that_is_there(
    spark: "SparkSession", postgresql: PostgreSql
) -> None:
    postgresql.run(
        "CREATE SCHEMA shop; CREATE TABLE shop.stats (page varchar(20) PRIMARY KEY, n bigint, "
        "cost numeric(10,4), note text DEFAULT 'new'); "
        "INSERT INTO shop.stats VALUES ('/a', 1, 0, 'kept')"
    )

    write(spark, upsert(postgresql, "shop.stats"), stats(spark, ("/a", 7), ("/b", 8)), 0)

    assert postgresql.run("SELECT page, n, cost, note FROM shop.stats ORDER BY page") == [
        ("/a", "7", "1.5000", "kept"),
        ("/b", "8", "1.5000", "new"),
    ]


def test_what_an_earlier_run_left_behind_is_dropped(
    spark: "SparkSession", postgresql: PostgreSql
) -> None:
    sink = upsert(postgresql, "cut")
    made = make_sink(spark, sink, NOWHERE, Delivery.EXACTLY_ONCE)
    made.open("query")
    left = f"{made._prefix}dead"
    postgresql.run(f"CREATE TABLE {left} (page text)")

    write(spark, sink, stats(spark, ("/a", 1)), 0)

    assert left not in tables(postgresql)


def test_append_adds_rows(spark: "SparkSession", postgresql: PostgreSql) -> None:
    sink = upsert(postgresql, "appended", mode=WriteMode.APPEND, key=())

    for batch_id in range(2):
        write(spark, sink, stats(spark, ("/a", 1), (None, None)), batch_id)

    assert postgresql.run("SELECT count(*), count(page) FROM appended") == [("4", "2")]


def test_trouble_is_one_sentence_without_the_password(
    spark: "SparkSession", postgresql: PostgreSql
) -> None:
    postgresql.run("CREATE TABLE keyless (page text, n int, cost numeric)")
    rows = stats(spark, ("/a", 1))
    wrong = "jdbc:postgresql://127.0.0.1:1/x?password=not-in-any-log"
    cases = [
        (upsert(postgresql, "keyless"), rows, "needs a primary key or a unique index over page"),
        (upsert(postgresql, "nulls"), stats(spark, (None, 1)), "1 rows have no value for the key"),
        (upsert(postgresql, "keyless"), rows.withColumn("x", rows["n"]), "has no column x"),
        (upsert(postgresql, "t", user="nobody"), rows, "authentication failed"),
        (upsert(postgresql, "a", mode=WriteMode.APPEND, jdbc=wrong), rows, "cannot be reached"),
        (upsert(postgresql, "a", jdbc="jdbc:mysql://127.0.0.1:1/x"), rows, "no JDBC driver"),
    ]

    for sink, batch, words in cases:
        with pytest.raises(SinkFailed, match=words) as raised:
            write(spark, sink, batch, 0)
        assert "\n" not in str(raised.value)
        assert postgresql.password not in str(raised.value)
        assert raised.value.__cause__ is None
    assert not [name for name in tables(postgresql) if name.startswith("klamm_")]


def test_database_that_is_down_may_pass(spark: "SparkSession", postgresql: PostgreSql) -> None:
    sink = upsert(postgresql, "t", jdbc="jdbc:postgresql://127.0.0.1:1/x")

    with pytest.raises(
        SinkUnreachable, match=r"jdbc:postgresql://127\.0\.0\.1:1/x cannot be reached"
    ):
        write(spark, sink, stats(spark, ("/a", 1)), 0)


def test_trouble_in_the_rows_is_not_blamed_on_the_database(
    spark: "SparkSession", postgresql: PostgreSql
) -> None:
    rows = stats(spark, ("/a", 1)).selectExpr("page", "CAST(raise_error('mine') AS int) AS n")

    with pytest.raises(Exception, match="mine") as raised:
        write(spark, upsert(postgresql, "innocent"), rows, 0)

    assert not isinstance(raised.value, SinkFailed)
