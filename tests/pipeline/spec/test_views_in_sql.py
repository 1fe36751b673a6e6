"""The views that a SELECT reads, found without Spark."""

from typing import Any, TypeAlias

import pytest

from klamm.pipeline.spec import BadPipeline, from_dict
from klamm.pipeline.spec.checks.sql import reads_of

Facts: TypeAlias = dict[str, Any]


@pytest.mark.parametrize(
    ("sql", "views"),
    [
        ("SELECT 1", []),
        ("SELECT c, 'FROM d' FROM `A`, (SELECT 1 FROM /* FROM e */ b) -- FROM e", ["A", "b"]),
        ("select a.x from a join b on a.x = b.x, c where a.y in (select y from d)", list("abcd")),
        ("SELECT * FROM (a CROSS JOIN b), LATERAL (SELECT * FROM c)", list("abc")),
        ("SELECT * FROM ((SELECT 1 FROM a) UNION SELECT 2 FROM b)", ["a", "b"]),
        ("FROM a SELECT x", ["a"]),
        ("SELECT * FROM (FROM a |> WHERE x > 1) |> JOIN b ON true |> SELECT x, y", ["a", "b"]),
        # The same word elsewhere.
        ("SELECT extract(year FROM at), trim(BOTH 'x' FROM y) FROM a", ["a"]),
        ("SELECT x IS DISTINCT FROM y, x IS NOT DISTINCT FROM z FROM a", ["a"]),
        ("SELECT x FROM a GROUP BY x, y ORDER BY x, z", ["a"]),
        # What is no view of one part.
        ("SELECT * FROM range(3), a t(x, y), lake.default.b, `c`.d, parquet.`/e`", ["a"]),
        ("SELECT * FROM a LATERAL VIEW explode(x) t AS y, z WHERE y > 1", ["a"]),
        ("SELECT * FROM a, LATERAL explode(x) t JOIN b USING (u, v)", ["a", "b"]),
        ("SELECT * FROM VALUES (current_date()), (x) AS t(y)", []),
        ("SELECT * FROM a PIVOT (sum(x) FOR y IN ('p' AS p, 'q' AS q)), b", ["a", "b"]),
        (r"SELECT 'it\'s FROM x', r'\', \"FROM y\" FROM a".replace('\\"', '"'), ["a"]),
        ("SELECT `FROM` FROM `a``b`", ["a`b"]),
        ("SELECT x FROM a, ", ["a"]),
        (")", []),
    ],
)
def test_views_stand_where_sql_has_a_place_for_them(sql: str, views: list[str]) -> None:
    assert list(reads_of(sql).views) == views


def test_what_a_select_names_itself_is_no_view_that_is_missing() -> None:
    sql = (
        "WITH RECURSIVE one AS (SELECT * FROM a), two(x, y) AS (SELECT * FROM one), "
        "`three` MAX RECURSION LEVEL 5 AS (SELECT 1) SELECT * FROM Two JOIN three JOIN four"
    )

    assert reads_of(sql).unknown(["A"]) == ["four"]


@pytest.mark.parametrize("sql", ["SELECT * FROM STREAM a", "SELECT * FROM STREAM(a)", "TABLE a"])
def test_view_behind_a_word_that_may_be_a_view_itself_is_not_complained_about(sql: str) -> None:
    reads = reads_of(sql)

    assert reads.view("a")
    assert reads.unknown([]) == []


def test_sql_after_a_function_may_read_a_view_that_the_function_made() -> None:
    def facts(sql: str) -> Facts:
        steps: list[Facts] = [{"python": "mine:enrich"}, {"sql": sql}]
        source: Facts = {"topic": "t", "format": "text"}
        return {"name": "p", "source": source, "steps": steps, "sink": {"console": True}}

    from_dict(facts("SELECT * FROM made_there"))
    with pytest.raises(BadPipeline, match="FROM inputs"):
        from_dict(facts("SELECT * FROM inputs"))
