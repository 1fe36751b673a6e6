"""Whether SQL is SQL, told by Spark's own parser: it needs Java and not yet Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors.exceptions.base import ParseException
from pyspark.errors.exceptions.captured import convert_exception

from klamm.pipeline.adhoc.mistakes import WrongSql, mistake_of

# Iceberg adds statements that begin so, and is not asked here.
_OF_EXTENSIONS = re.compile(r"\s*(ALTER|CALL)\b", re.IGNORECASE)
# What comes after it may be read in another way.
_CHANGES_THE_PARSER = re.compile(r"\s*(SET|RESET)\b", re.IGNORECASE)


def check_syntax(jvm: Any, statements: Sequence[str]) -> None:
    """Raises WrongSql for the first that Spark would not understand."""
    parser = jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for sql in statements:
        if _CHANGES_THE_PARSER.match(sql):
            return
        if not _OF_EXTENSIONS.match(sql):
            _check(parser, sql)


def _check(parser: Any, sql: str) -> None:
    try:
        parser.parsePlan(sql)
    except ParseException as wrong:
        raise WrongSql(mistake_of(wrong, sql), sql) from wrong
    except Py4JJavaError as error:
        # As it comes while there is no session that would translate it.
        translated = convert_exception(error.java_exception)
        if isinstance(translated, ParseException):
            raise WrongSql(mistake_of(translated, sql), sql) from error
        # Anything else is for the session to say.
