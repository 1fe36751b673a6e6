"""What is wrong with a query: Spark's sentence, and the place in the SQL that it means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from klamm.pipeline.failures.chain import clean
from klamm.pipeline.failures.trouble import sentence_of

_PLACE = re.compile(r";? ?\(?line (\d+),? pos(?:ition)? (\d+)\)?")
# What Spark adds for people who administer a metastore.
_ADVICE = re.compile(
    r" (Verify the spelling and correctness of the schema and catalog|Unquoted identifiers can only contain|"
    r"If necessary set \"spark\.).*"
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """`line` and `column` count from 1, as editors do."""

    sentence: str
    line: int | None = None
    column: int | None = None

    def shown_in(self, sql: str) -> str:
        """The sentence, and below it the line with a mark under the place."""
        if self.line is None or self.column is None:
            return self.sentence
        text = sql.split("\n")[self.line - 1]
        mark = " " * (self.column - 1) + "^"
        return f"line {self.line}, column {self.column}: {self.sentence}\n    {text}\n    {mark}"


class WrongSql(Exception):
    """Spark does not understand the query, or could not compute it."""

    def __init__(self, mistake: Mistake, sql: str) -> None:
        super().__init__(mistake.shown_in(sql))
        self.mistake = mistake


def mistake_of(error: Exception, sql: str) -> Mistake:
    java = getattr(error, "java_exception", None)
    # Py4J's own error prints Java's stack trace; what happened is in the exception it carries.
    sentence = str(java.getMessage()) if java is not None else sentence_of(error)
    place = _start_of_context(error, sql) or _place(getattr(error, "_desc", None) or "")
    sentence = _ADVICE.sub("", _PLACE.sub("", sentence)).strip()
    return _mistake(sentence, place, sql)


def mistake_in(message: str, sql: str) -> Mistake:
    """Of what Java says, where PySpark has not looked at it."""
    place = _place(message)
    return _mistake(_ADVICE.sub("", _PLACE.sub("", clean(message))).strip(), place, sql)


def _mistake(sentence: str, place: tuple[int, int] | None, sql: str) -> Mistake:
    line, column = place or (None, None)
    if line is not None and line > sql.count("\n") + 1:
        line = column = None  # of another text than ours, a view's
    return Mistake(sentence, line, column)


def _start_of_context(error: Exception, sql: str) -> tuple[int, int] | None:
    for context in getattr(error, "getQueryContext", list)():
        if context.contextType().name != "SQL":
            continue
        index = context.startIndex()
        if sql[index : index + len(context.fragment())] == context.fragment():
            before = sql[:index]
            return before.count("\n") + 1, index - before.rfind("\n")
    return None


def _place(message: str) -> tuple[int, int] | None:
    found = _PLACE.search(message)
    return (int(found[1]), int(found[2]) + 1) if found else None
