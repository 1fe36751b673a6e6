"""`klamm sql`: topics and tables are asked in one language."""

import json
import sys
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cli.commands import Answer
from klamm.pipeline.adhoc.asking import Desk
from klamm.pipeline.adhoc.known import Known, NothingOfThatName
from klamm.pipeline.adhoc.mistakes import WrongSql
from klamm.pipeline.adhoc.sampling import Looker
from klamm.pipeline.place import Place
from pipeline.reading.records import put
from support.brokers import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Klamm = Callable[..., Answer]
Topic = Callable[..., str]

pytestmark = pytest.mark.usefixtures("spark")

CLICKS = [
    b'{"user": "ann", "ms": 5, "at": "2026-11-15T10:00:00Z"}',
    b'{"user": "bob", "ms": 7, "at": "2026-11-15T10:00:01Z", "tags": ["new"]}',
    b'{"user": "ann", "ms": 9, "at": "2026-11-15T10:00:02Z"}',
]


def test_columns_are_learned_from_the_records(klamm: Klamm, topic: Topic) -> None:
    topic("sql_clicks", *CLICKS)

    answer = klamm("sql", "SELECT user, sum(ms) AS ms FROM sql_clicks GROUP BY user ORDER BY user")

    assert (answer.code, answer.rows) == (0, [{"user": "ann", "ms": 14}, {"user": "bob", "ms": 7}])
    expected = "sql_clicks: user string, ms bigint, at timestamp, tags array<string> (learned from 3 records)"
    assert expected in answer.err


def test_metadata_columns_are_always_there(klamm: Klamm, topic: Topic) -> None:
    topic("sql-meta.data", b'{"a": 1}', b'{"a": 2}')

    answer = klamm(
        "sql",
        "SELECT a, _key, _topic, _partition, _offset, _timestamp IS NOT NULL AS has_time"
        " FROM `sql-meta.data` ORDER BY a",
    )

    common = {"_key": "k", "_topic": "sql-meta.data", "_offset": 0, "has_time": True}
    assert answer.rows == [{"a": 1, "_partition": 0, **common}, {"a": 2, "_partition": 1, **common}]


def test_values_that_are_no_json_are_one_column(klamm: Klamm, topic: Topic) -> None:
    topic("sql_text", b"hello", b"there", None)

    answer = klamm("sql", "SELECT value FROM sql_text ORDER BY value")

    assert answer.rows == [{"value": None}, {"value": "hello"}, {"value": "there"}]
    assert "sql_text: value string (its records are no JSON objects)" in answer.err


def test_record_of_another_form_has_null_columns_and_is_told_of(klamm: Klamm, topic: Topic) -> None:
    topic("sql_mixed", b'{"a": 1}', b"{broken", b'{"a": 3}')

    answer = klamm("sql", "SELECT a FROM sql_mixed ORDER BY a")

    assert answer.rows == [{"a": None}, {"a": 1}, {"a": 3}]
    assert "1 of them are no JSON objects: their columns are NULL" in answer.err


def test_schema_and_format_may_be_given(klamm: Klamm, topic: Topic) -> None:
    topic("sql_csv", b"ann,5", b"bob,7")

    answer = klamm(
        *("sql", "SELECT user, ms * 2 AS twice FROM sql_csv ORDER BY 1"),
        *("--format", "csv", "--schema", "sql_csv: user string, ms int"),
    )

    assert answer.rows == [{"user": "ann", "twice": 10}, {"user": "bob", "twice": 14}]
    assert "learned" not in answer.err


def test_topics_and_tables_are_joined_and_found_wherever_sql_names_them(
    klamm: Klamm, topic: Topic, spark: "SparkSession", warehouse: Path
) -> None:
    topic("sql_orders", b'{"user": "ann", "n": 1}', b'{"user": "bob", "n": 2}')
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.default")
    spark.sql("CREATE TABLE lake.default.sql_names (user string, full string) USING iceberg")
    spark.sql("INSERT INTO lake.default.sql_names VALUES ('ann', 'Ann Lee'), ('bob', 'Bob Ray')")

    by_name = klamm(
        "sql",
        "WITH big AS (SELECT * FROM SQL_ORDERS WHERE n > 1) SELECT full FROM big JOIN sql_names USING (user)",
        *("--warehouse", str(warehouse)),
    )
    in_full = klamm(
        "sql",
        "SELECT full FROM lake.default.sql_names WHERE user IN (SELECT user FROM sql_orders WHERE n = 1)",
    )

    assert (by_name.rows, in_full.rows) == ([{"full": "Bob Ray"}], [{"full": "Ann Lee"}])


def test_limit_cuts_the_answer_and_says_so(klamm: Klamm, topic: Topic) -> None:
    topic("sql_many", *(json.dumps({"n": n}).encode() for n in range(5)))

    cut = klamm("sql", "SELECT n FROM sql_many ORDER BY n", "--limit", "2")
    whole = klamm("sql", "SELECT n FROM sql_many ORDER BY n", "--limit", "0")

    assert [row["n"] for row in cut.rows] == [0, 1]
    assert "these are the first 2 rows; --limit 0 shows all" in cut.err
    assert [row["n"] for row in whole.rows] == [0, 1, 2, 3, 4]
    assert "first" not in whole.err


def test_columns_of_one_name_are_told_apart(klamm: Klamm) -> None:
    assert klamm("sql", "SELECT 1 AS a, 2 AS a").rows == [{"a": 1, "a_2": 2}]


def test_statements_are_answered_one_after_the_other(
    klamm: Klamm, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic("sql_several", b'{"a": 1}', b'{"a": 2}')
    asked = (
        "CREATE TEMP VIEW sql_own AS SELECT a FROM sql_several; SELECT sum(a) AS a\nFROM sql_own"
    )

    in_one_line = klamm("sql", asked)
    monkeypatch.setattr(sys, "stdin", StringIO(asked))
    in_a_pipe = klamm("sql")

    assert (in_one_line.code, in_one_line.rows) == (0, [{"a": 3}])
    assert (in_a_pipe.code, in_a_pipe.rows) == (0, [{"a": 3}])


def test_statements_of_a_pipe_end_with_the_first_that_is_wrong(
    klamm: Klamm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("SELECT 1 AS a; SELECT nothing; SELECT 2 AS a;"))

    answer = klamm("sql")

    assert (answer.code, answer.rows) == (2, [{"a": 1}])


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_statements_of_a_pipe_are_text(
    klamm: Klamm, monkeypatch: pytest.MonkeyPatch, errors: str
) -> None:
    pipe = TextIOWrapper(BytesIO(b"SELECT '\xff';"), encoding="utf-8", errors=errors)
    monkeypatch.setattr(sys, "stdin", pipe)

    answer = klamm("sql")

    assert (answer.code, answer.err) == (2, "klamm: the SQL is not text in UTF-8\n")


def test_records_are_counted_without_spark(klamm: Klamm, topic: Topic) -> None:
    topic("sql_counted", b'{"a": 1}', None, b"{broken")

    answer = klamm("sql", "SELECT count(*) FROM SQL_counted; SELECT count(1) AS n FROM sql_counted")

    assert answer.rows == [{"count(1)": 3}, {"n": 3}]
    assert "Spark starts" not in answer.err


def test_topics_are_described(klamm: Klamm, topic: Topic) -> None:
    topic("sql-described", b'{"a": 1, "b": {"c": "x"}}')

    answer = klamm("sql", "DESCRIBE `sql-described`")

    assert [(row["col_name"], row["data_type"]) for row in answer.rows] == [
        *(("a", "bigint"), ("b", "struct<c:string>"), ("_key", "binary"), ("_topic", "string")),
        *(("_partition", "int"), ("_offset", "bigint"), ("_timestamp", "timestamp")),
    ]


def test_tables_are_what_they_are_when_they_are_asked(
    bootstrap: str, warehouse: Path, topic: Topic, spark: "SparkSession"
) -> None:
    topic("sql_learned", b'{"a": 1}')
    place = Place(bootstrap=bootstrap, checkpoint="", warehouse=str(warehouse))

    def rows(sql: str) -> list[tuple[object, ...]]:
        return desk.ask(sql).rows

    with Looker(bootstrap) as looker:
        desk = Desk(spark.newSession(), place, Known(looker, str(warehouse)))
        rows("CREATE TABLE lake.default.sql_kept AS SELECT a FROM sql_learned")
        assert rows("SELECT * FROM sql_kept") == [(1,)]
        rows("ALTER TABLE lake.default.sql_kept ADD COLUMN b int")
        assert rows("SELECT * FROM sql_kept") == [(1, None)]
        assert desk.means_topic("sql_kept")
        rows("CREATE TEMP VIEW sql_kept AS SELECT 1")
        assert not desk.means_topic("sql_kept")
        rows("DROP VIEW sql_kept")
        rows("DROP TABLE lake.default.sql_kept")
        with pytest.raises(NothingOfThatName):
            rows("SELECT * FROM sql_kept")
        # A topic is asked anew, but its columns are those that were learned, until REFRESH.
        put(bootstrap, "sql_learned", b'{"a": 2, "b": 3}')
        assert rows("SELECT count(*) FROM sql_learned") == [(2,)]
        assert desk.means_topic("SQL_learned")
        with pytest.raises(WrongSql):
            rows("SELECT b FROM sql_learned")
        rows("REFRESH sql_learned")
        assert rows("SELECT max(b) FROM sql_learned") == [(3,)]


@pytest.fixture(name="desk")
def a_desk(spark: "SparkSession", bootstrap: str, tmp_path: Path) -> Iterator[Desk]:
    """Of a shell: more questions are to come."""
    place = Place(bootstrap=bootstrap, checkpoint="", warehouse=str(tmp_path))
    with Looker(bootstrap) as looker:
        session = spark.newSession()
        yield Desk(session, place, Known(looker, place.warehouse), keeps=True)
        spark.catalog.clearCache()


def reads_memory_alone(desk: Desk, sql: str) -> bool:
    """Whether Spark would answer without a look into the topic."""
    plan = desk.ask(f"EXPLAIN {sql}").rows[0][0]
    assert isinstance(plan, str)
    return "InMemoryTableScan" in plan


SUM = "SELECT count(*), sum(ms) FROM {} WHERE ms > 0"


def test_topic_that_was_asked_once_is_not_read_again(desk: Desk, topic: Topic) -> None:
    name = topic("kept_once", *CLICKS)

    assert desk.ask(SUM.format(name)).rows == [(3, 21)]
    assert desk.ask(SUM.format(name)).rows == [(3, 21)]

    assert reads_memory_alone(desk, SUM.format(name))
    # A look at a few records does not wait for all of them.
    assert not reads_memory_alone(desk, f"SELECT user FROM {name} LIMIT 2")


def test_question_sees_what_came_since_the_one_before(
    bootstrap: str, desk: Desk, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic("kept_growing", *CLICKS)
    assert desk.ask(SUM.format(name)).rows == [(3, 21)]

    put(bootstrap, name, b'{"ms": 100}')
    assert desk.ask(SUM.format(name)).rows == [(4, 121)]
    # So many that they are kept, too.
    monkeypatch.setattr("klamm.pipeline.adhoc.keeping.FEW", 1)
    put(bootstrap, name, b'{"ms": 200}')
    assert desk.ask(SUM.format(name)).rows == [(5, 321)]
    assert desk.ask(SUM.format(name)).rows == [(5, 321)]


def test_topic_that_was_made_again_is_read_again(bootstrap: str, desk: Desk, topic: Topic) -> None:
    name = topic("kept_again", *CLICKS)
    assert desk.ask(SUM.format(name)).rows == [(3, 21)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([name])[name].result(20)
    topic(name, b'{"ms": 1}', b'{"ms": 1}', b'{"ms": 1}', b'{"ms": 1}')

    assert desk.ask(SUM.format(name)).rows == [(4, 4)]


def test_records_that_were_deleted_are_not_remembered(
    bootstrap: str, desk: Desk, topic: Topic
) -> None:
    name = topic("kept_deleted", *CLICKS, partitions=1)
    assert desk.ask(SUM.format(name)).rows == [(3, 21)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (deleted,) = admin.delete_records([TopicPartition(name, 0, 2)]).values()
    deleted.result(20)

    assert desk.ask(SUM.format(name)).rows == [(1, 9)]


def test_topic_whose_records_go_by_their_keys_is_read_each_time(bootstrap: str, desk: Desk) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {"cleanup.policy": "compact"}
    (made,) = admin.create_topics([NewTopic("kept_compacted", 1, 1, config=config)]).values()
    made.result(20)
    put(bootstrap, "kept_compacted", b'{"ms": 1}', key=b"k")

    assert desk.ask(SUM.format("kept_compacted")).rows == [(1, 1)]
    assert not reads_memory_alone(desk, SUM.format("kept_compacted"))


def test_view_of_a_topic_sees_what_the_topic_holds_now(
    bootstrap: str, desk: Desk, topic: Topic
) -> None:
    name = topic("kept_below", *CLICKS)
    desk.ask(f"CREATE TEMPORARY VIEW slow AS SELECT * FROM {name} WHERE ms > 6")
    assert desk.ask("SELECT count(*) FROM slow").rows == [(2,)]

    put(bootstrap, name, b'{"ms": 100}')

    assert desk.ask("SELECT count(*) FROM slow").rows == [(3,)]


@pytest.mark.parametrize("sql", ["SHOW TABLES", "show tables like 'sql_SHOW*'"])
def test_topics_and_tables_are_shown_without_spark(
    klamm: Klamm, topic: Topic, tmp_path: Path, sql: str, request: pytest.FixtureRequest
) -> None:
    number = request.node.callspec.indices["sql"]
    name = topic(f"sql_shown_{number}")
    for folder in (f"default/sql_shown_table_{number}", "default/other", f"default/{name}"):
        (tmp_path / folder / "metadata").mkdir(parents=True)

    answer = klamm("sql", sql, "--warehouse", str(tmp_path))

    shown = {row["name"]: row["kind"] for row in answer.rows}
    assert shown[name] == "topic"
    assert shown[f"sql_shown_table_{number}"] == "table"
    assert ("other" in shown) is (sql == "SHOW TABLES")
    assert (f"lake.default.{name}" in shown) is (sql == "SHOW TABLES")
    assert "Spark starts" not in answer.err


@pytest.mark.parametrize(
    ("sql", "place", "words"),
    [
        ("SELECT * FORM sql_wrong", "line 1, column 15", "Syntax error at or near 'sql_wrong'"),
        ("SELECT a,\n  mss FROM sql_wrong", "line 2, column 3", "`mss` cannot be resolved"),
        ("SELECT a / 0 FROM sql_wrong", "line 1, column 8", "Division by zero"),
        ("SELECT * FROM sql-wrong", "line 1, column 18", "must be back quoted as: `sql-wrong`"),
        ("", "line 1, column 1", "unexpected empty statement"),
    ],
)
def test_wrong_sql_gives_a_sentence_with_the_place(
    klamm: Klamm, topic: Topic, sql: str, place: str, words: str, request: pytest.FixtureRequest
) -> None:
    name = f"sql_wrong_{request.node.callspec.indices['sql']}"
    topic(name, b'{"a": 1, "ms": 2}')
    sql = sql.replace("sql_wrong", name)

    answer = klamm("sql", sql)

    assert (answer.code, answer.out) == (2, b"")
    assert place in answer.err
    assert words.replace("sql_wrong", name) in answer.err
    marked = [line for line in answer.err.splitlines() if line.strip() == "^"]
    assert len(marked) == 1
    assert "\tat " not in answer.err, "no stack trace"
    assert "SQLSTATE" not in answer.err


@pytest.fixture(scope="module")
def _neighbours(broker: Broker) -> None:
    wanted = [NewTopic(name, 1, 1) for name in ("sql_nearby", "sql.dotted", "a.sql.dotted")]
    admin = AdminClient({"bootstrap.servers": broker.address})
    for made in admin.create_topics(wanted).values():
        made.result(20)


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        ("sql_neerby", "did you mean sql_nearby?"),
        ("`sql.doted`", "did you mean `sql.dotted`?"),
        ("sql.dotted", "a topic with dots is written in backticks: `sql.dotted`"),
        ("a.sql.dotted", "a topic with dots is written in backticks: `a.sql.dotted`"),
        ("lake.default.gone", "`klamm topic list` shows the topics"),
    ],
)
@pytest.mark.usefixtures("_neighbours")
def test_name_of_nothing_gives_the_nearest(klamm: Klamm, named: str, hint: str) -> None:
    answer = klamm("sql", f"SELECT * FROM {named}")

    assert answer.code == 1
    assert "there is no topic and no table" in answer.err
    assert hint in answer.err
    # Of a name that has parts only Spark can say whether it is a table's.
    assert ("Spark starts" in answer.err) is ("." in named and "`" not in named)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--schema", "user string"), "is not of the form 'TOPIC: COLUMNS'"),
        (("--schema", "clicks: user strng"), "did you mean string?"),
        (("--format", "csv"), "the format csv needs a schema"),
    ],
)
def test_options_that_cannot_be_used_are_wrong_usage(
    klamm: Klamm, topic: Topic, options: tuple[str, str], words: str, request: pytest.FixtureRequest
) -> None:
    name = topic(f"sql_options_{request.node.callspec.indices['options']}", b"1,2")

    answer = klamm("sql", f"SELECT * FROM {name}", *options)

    assert answer.code == 2
    assert words in answer.err


def test_cluster_that_is_not_there_is_told_before_spark_starts(klamm: Klamm) -> None:
    answer = klamm("sql", "SELECT 1", "-b", "127.0.0.1:1")

    assert answer.code == 1
    assert "no broker to talk to" in answer.err
