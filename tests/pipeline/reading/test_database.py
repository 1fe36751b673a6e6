"""A database as a source: each row lands once, whatever ends the landing when."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.place import Place
from klamm.pipeline.quality.reading import read_checked
from klamm.pipeline.sources.landing import Landing
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable
from klamm.pipeline.spec import JdbcSource, Pipeline
from pipeline.reading.records import a_pipeline, a_place, stream
from support.brokers import HOST, free_port
from support.patience import eventually
from support.postgresql import PostgreSql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("asked", "staged", "noted", "landed")


class Cut(Exception):
    """As if the driver had been killed here."""


@pytest.fixture
def table(postgresql: PostgreSql) -> Iterator[str]:
    postgresql.run("CREATE TABLE orders (id bigint, what text, at timestamptz)")
    yield "orders"
    postgresql.run("DROP TABLE orders")


def insert(postgresql: PostgreSql, *ids: int) -> None:
    rows = ", ".join(
        f"({n}, 'o-{n:05}', timestamptz '2026-10-25 00:00:00Z' + {n} * interval '1 second')"
        for n in ids
    )
    postgresql.run(f"INSERT INTO orders VALUES {rows}")


def a_source(postgresql: PostgreSql, **more: Any) -> JdbcSource:
    facts = {"table": "orders", "user": postgresql.user, "password": postgresql.password}
    return JdbcSource(jdbc=postgresql.url, **{**facts, **more})


def a_flow(postgresql: PostgreSql, **more: object) -> Pipeline:
    facts = {"table": "orders", "user": postgresql.user, "password": postgresql.password}
    expect = [{"name": "sane", "check": "id > 0", "otherwise": "dead_letter"}]
    source = {"jdbc": postgresql.url, **facts, **more}
    return a_pipeline(source, dead_letter="d", expect=expect)


def ids_in(spark: "SparkSession", landing: Landing) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(landing.path).collect())


@pytest.mark.parametrize(
    ("column", "steps"), [("id", STEPS), ("AT", ("noted",)), ("what", ("landed",))]
)
def test_landing_that_is_cut_anywhere_loses_and_repeats_no_row(
    spark: "SparkSession",
    postgresql: PostgreSql,
    table: str,
    tmp_path: Path,
    column: str,
    steps: tuple[str, ...],
) -> None:
    """One heir after the other is cut, each a step later than the one before."""
    source = a_source(postgresql, incremental=column)
    insert(postgresql, 1, 2)
    Landing(spark, source, str(tmp_path)).land_all()

    for number, step in enumerate(steps, 3):
        insert(postgresql, number)
        with pytest.raises(Cut):
            Landing(spark, source, str(tmp_path), reached=partial(cut_at, step)).land_all()
    last = 3 + len(steps)
    insert(postgresql, last)
    heir = Landing(spark, source, str(tmp_path))
    heir.land_all()

    assert ids_in(spark, heir) == list(range(1, last + 1))


def cut_at(step: str, reached: str) -> None:
    if reached == step:
        raise Cut


def test_round_takes_about_as_many_rows_as_allowed_and_never_parts_rows_of_one_value(
    spark: "SparkSession", postgresql: PostgreSql, table: str, tmp_path: Path
) -> None:
    insert(postgresql, 1, 2, 2, 2, 3, 4)
    landing = Landing(spark, a_source(postgresql, incremental="id", max_per_batch=2), str(tmp_path))

    rounds = []
    while landing.land():
        rounds.append(ids_in(spark, landing))

    assert rounds == [[1, 2, 2, 2], [1, 2, 2, 2, 3, 4]]


@pytest.mark.parametrize(
    ("column", "after"), [("id", "2"), ("at", "2026-10-25T00:00:02"), ("what", "o-00002")]
)
def test_first_start_reads_only_what_is_above_the_given_value(
    spark: "SparkSession",
    postgresql: PostgreSql,
    table: str,
    tmp_path: Path,
    column: str,
    after: str,
) -> None:
    insert(postgresql, 1, 2, 3)
    landing = Landing(spark, a_source(postgresql, incremental=column, after=after), str(tmp_path))

    landing.land_all()

    assert ids_in(spark, landing) == [3]


def test_without_a_growing_column_all_rows_are_read_once(
    spark: "SparkSession", postgresql: PostgreSql, table: str, tmp_path: Path
) -> None:
    insert(postgresql, 1, 2)
    query = "SELECT id * 10 AS id FROM orders;"
    source = a_source(postgresql, table=None, query=query)
    Landing(spark, source, str(tmp_path)).land_all()
    insert(postgresql, 3)

    again = Landing(spark, source, str(tmp_path))
    again.land_all()

    assert ids_in(spark, again) == [10, 20]


def test_rows_stream_in_rounds_and_bad_ones_are_letters(
    spark: "SparkSession", postgresql: PostgreSql, table: str, tmp_path: Path
) -> None:
    insert(postgresql, -1, 1, 2)
    flow = a_flow(postgresql, incremental="id", max_per_batch=2)
    place: Place = a_place("b:1", tmp_path)

    found = read_checked(spark, flow, flow.sources[0], place)

    assert found.landing is not None
    found.landing.close()
    assert found.bad is not None
    good = stream(found.good)
    assert (sorted(row.id for row in good.rows), good.batches) == ([1, 2], 2)
    [letter] = stream(found.bad).rows
    assert bytes(letter.value).startswith(b'{"id":-1,"what":"o--0001"')
    assert ("klamm.table", b"orders") in [(e.key, bytes(e.value)) for e in letter.headers]


def test_rows_that_come_while_a_query_runs_land(
    spark: "SparkSession", postgresql: PostgreSql, table: str, tmp_path: Path
) -> None:
    insert(postgresql, 1)
    flow = a_flow(postgresql, incremental="id")
    own = spark.newSession()
    found = read_checked(own, flow, flow.sources[0], a_place("b:1", tmp_path))
    writer = found.good.writeStream.format("memory").queryName("landed_orders")
    query = writer.trigger(processingTime="0 seconds").start()
    try:
        insert(postgresql, 2)

        def both() -> None:
            assert sorted(row.id for row in own.table("landed_orders").collect()) == [1, 2]

        eventually(both)
    finally:
        query.stop()
        assert found.landing is not None
        found.landing.close()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"table": "others"}, 'refused: relation "others" does not exist'),
        ({"incremental": "idd"}, "has no column idd; did you mean id?"),
        ({"incremental": "id", "after": "x"}, "after: 'x' is no bigint, which id is"),
        ({"password": "wrong"}, "password authentication failed"),
    ],
)
def test_what_the_database_refuses_is_one_sentence(
    spark: "SparkSession",
    postgresql: PostgreSql,
    table: str,
    tmp_path: Path,
    more: dict[str, str],
    sentence: str,
) -> None:
    with pytest.raises(SourceFailed, match=sentence) as raised:
        Landing(spark, a_source(postgresql, **more), str(tmp_path))

    assert "\n" not in str(raised.value)
    assert postgresql.password not in str(raised.value)


def test_database_that_is_down_may_come_back(spark: "SparkSession", tmp_path: Path) -> None:
    url = f"jdbc:postgresql://{HOST}:{free_port()}/shop?password=secret"

    with pytest.raises(
        SourceUnreachable, match=f"the database {url.split('?')[0]} cannot be reached"
    ) as e:
        Landing(spark, JdbcSource(jdbc=url, table="orders"), str(tmp_path))

    assert "secret" not in str(e.value)
