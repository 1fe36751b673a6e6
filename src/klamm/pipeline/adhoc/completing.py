"""What may come next in a statement: names where a table is named, else columns, functions and keywords. No Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from klamm.pipeline.adhoc.known import in_backticks, same_name
from klamm.pipeline.spec.checks.sql import reads_of

# Those that people type; Spark knows many more.
_WORDS = """
    ALL AND ANALYZE ANTI AS ASC BETWEEN BY CASE CAST CREATE CROSS DATE DESC DESCRIBE DISTINCT DROP ELSE END EXCEPT EXISTS
    EXPLAIN EXTENDED FALSE FIRST FROM FULL FUNCTIONS GROUP HAVING ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN
    LAST LATERAL LEFT LIKE LIMIT MINUS NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT QUALIFY REFRESH
    REPLACE RIGHT RLIKE ROWS SELECT SEMI SET SHOW TABLE TABLES TABLESAMPLE TEMPORARY THEN TIMESTAMP TRUE UNION UNPIVOT
    USING VALUES VIEW WHEN WHERE WINDOW WITH
"""
KEYWORDS = _WORDS.split()
_WORD = re.compile(r"`[^`]*$|\w*$")
_BEFORE_A_NAME = re.compile(
    r"\b(FROM|JOIN|INTO|TABLE|DESCRIBE|DESC|REFRESH)\s+(?:[\w.`-]+\s*,\s*)*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Completions:
    """`start` is where the word begins that they would take the place of."""

    start: int
    words: list[str]


def completions(
    before: str,
    after: str = "",
    *,
    names: Sequence[str],
    columns_of: Callable[[str], Sequence[str]],
    functions: Iterable[str] = (),
) -> Completions:
    """For the text on both sides of the cursor. `names` are those of topics and tables, as they are."""
    found = _WORD.search(before)
    assert found is not None, "a word may be empty"
    typed = found[0]
    if _BEFORE_A_NAME.search(before[: found.start()]):
        return Completions(found.start(), _beginning(typed, map(in_backticks, names)))
    if not typed:
        return Completions(found.start(), [])
    mentioned = reads_of(f"{before} {after}")
    tables = (same_name(each, names) for each in (*mentioned.views, *mentioned.perhaps))
    columns = [in_backticks(column) for each in tables if each for column in columns_of(each)]
    keywords = [word.lower() for word in KEYWORDS] if typed.islower() else KEYWORDS
    words = [
        *_beginning(typed, columns),
        *_beginning(typed, keywords),
        *_beginning(typed, functions),
        *_beginning(typed, map(in_backticks, names)),
    ]
    return Completions(found.start(), list(dict.fromkeys(words)))


def _beginning(typed: str, words: Iterable[str]) -> list[str]:
    """With or without the backtick that the name needs."""
    begun = typed.lstrip("`").lower()
    is_quoted = typed.startswith("`")
    return [
        word
        for word in words
        if word.lstrip("`").lower().startswith(begun) and (not is_quoted or word.startswith("`"))
    ]
