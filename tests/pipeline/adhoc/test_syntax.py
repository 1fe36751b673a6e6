"""Wrong syntax is told before Spark starts, and only what Spark itself refuses is wrong."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("sqlglot")

from klamm.pipeline.adhoc.mistakes import WrongSql
from klamm.pipeline.adhoc.syntax import check_doubtful, check_syntax, is_doubtful

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 300.0


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t", False),
        ("WITH t AS (SELECT 1 AS a) SELECT a, count(*) FROM t GROUP BY ALL", False),
        ("SELECT * FORM t", True),
        ("SELECT a FROM (SELECT 1", True),
        ("SELECT 'a", True),
        ("", True),
        # Spark understands it: WHERE is the alias.
        ("SELECT a FROM t WHERE", True),
        ("(" * 10_000, False),
    ],
)
def test_doubts(sql: str, expected: bool) -> None:
    assert is_doubtful(sql) is expected


def test_what_only_sqlglot_does_not_understand_passes(spark: "SparkSession") -> None:
    check_doubtful(["SELECT a FROM t WHERE"])


def test_sparks_parser_decides(spark: "SparkSession") -> None:
    fine = [
        "SELECT * EXCEPT (a) FROM t LATERAL VIEW explode(b) AS c",
        "FROM t |> WHERE a > 1 |> AGGREGATE count(*) GROUP BY b",
        "CREATE TABLE lake.default.x (a int) USING iceberg PARTITIONED BY (bucket(4, a))",
        "CALL lake.system.expire_snapshots('x')",
        "ALTER TABLE lake.default.x ADD PARTITION FIELD bucket(4, a)",
        "SHOW FUNCTIONS",
        "SELECT now what",
        "SET spark.sql.ansi.enabled = false",
        "after SET nobody knows",
    ]
    check_syntax(spark._jvm, fine)

    with pytest.raises(WrongSql) as wrong:
        check_syntax(spark._jvm, ["SELECT 1", "SELECT *\nFORM t"])

    assert str(wrong.value).startswith("line 2, column 6: Syntax error at or near 't'")
    assert "SQLSTATE" not in str(wrong.value)


@pytest.mark.spark
def test_mistake_is_the_same_without_spark() -> None:
    program = "from klamm.pipeline.adhoc.syntax import *; check_doubtful(['SELECT 1', 'SELECT *\\nFORM t'])"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
    )

    *_, sentence, line, mark = done.stderr.splitlines()
    assert "WrongSql: line 2, column 6: Syntax error at or near 't'" in sentence
    assert "SQLSTATE" not in sentence
    assert (line, mark) == ("    FORM t", "         ^")
