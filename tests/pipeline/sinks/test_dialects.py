"""The SQL of upserts. SQLite runs it here; PostgreSQL in test_database; MySQL's is compared with its manual's shape."""

import sqlite3

import pytest

from klamm.pipeline.sinks.database.dialects import dialect_of
from klamm.pipeline.sinks.trouble import SinkFailed


def test_upsert_replaces_by_key_and_takes_one_of_each_repeated_row() -> None:
    dialect = dialect_of("jdbc:sqlite:any.db")
    database = sqlite3.connect(":memory:")
    database.executescript(
        "CREATE TABLE staging (id int, n int); INSERT INTO staging VALUES (1, 10), (2, 20), (2, 20);"
    )
    for statement in dialect.create_like("stats", "staging", ["id"]):
        database.execute(statement)
    database.execute("INSERT INTO stats VALUES (1, 1), (3, 3)")

    database.execute(dialect.upsert("stats", "staging", columns=["id", "n"], key=["id"]))

    assert sorted(database.execute("SELECT * FROM stats")) == [(1, 10), (2, 20), (3, 3)]
    database.close()


def test_rows_of_nothing_but_a_key_are_left_as_they_are() -> None:
    sql = dialect_of("jdbc:postgresql://h/d").upsert("t", "s", columns=["a", "b"], key=["a", "b"])

    assert sql.endswith('ON CONFLICT ("a", "b") DO NOTHING')


def test_mysql_has_words_of_its_own() -> None:
    sql = dialect_of("jdbc:mysql://h/d").upsert("t", "s", columns=["id", "n"], key=["id"])

    assert sql.endswith("ON DUPLICATE KEY UPDATE `n` = VALUES(`n`)")


def test_database_without_a_known_upsert_is_named() -> None:
    with pytest.raises(SinkFailed, match="upsert is not known for oracle databases"):
        dialect_of("jdbc:oracle:thin:@h:1521:x")
