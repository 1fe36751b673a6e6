"""Whether SQL is SQL. Spark's own parser decides; it needs Java and not yet Spark.

Java alone takes a second or two. So sqlglot is asked first, which knows nearly all of Spark's SQL and needs neither: what
it understands is not held up, and what it does not is shown to Spark's parser in a small Java of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors.exceptions.base import ParseException

from klamm.pipeline.adhoc.mistakes import WrongSql, mistake_in, mistake_of
from klamm.pipeline.java import find_java

# Iceberg adds statements that begin so, and is not asked here.
_OF_EXTENSIONS = re.compile(r"\s*(ALTER|CALL)\b", re.IGNORECASE)
# What comes after it may be read in another way.
_CHANGES_THE_PARSER = re.compile(r"\s*(SET|RESET)\b", re.IGNORECASE)
_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
_SMALL_JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xlog:disable", "-Dlog4j2.level=OFF"]
_LOOPBACK = "127.0.0.1"


def is_doubtful(sql: str) -> bool:
    """Whether sqlglot does not understand it. That alone says nothing: Spark may."""
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ImportError:
        return False
    try:
        sqlglot.parse_one(sql, read="spark")
    except SqlglotError:
        return True
    except RecursionError:
        return False
    return False


def check_doubtful(statements: Sequence[str]) -> None:
    """Raises WrongSql, in a fraction of the time that Spark takes to start."""
    doubtful = [sql for sql in statements if is_doubtful(sql)]
    if not doubtful:
        return
    with _a_parsers_java() as jvm:
        if jvm is not None:
            check_syntax(jvm, statements)


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
        # As it comes while there is no session that would translate it. Anything else is for the session to say.
        java = error.java_exception
        if java.getClass().getName() == _PARSE_EXCEPTION:
            raise WrongSql(mistake_in(java.getMessage(), sql), sql) from error


@contextmanager
def _a_parsers_java() -> Iterator[Any | None]:
    """Spark's if it runs; None where it cannot be had, which is for the start of Spark to explain."""
    if SparkContext._jvm is not None:
        yield SparkContext._jvm
        return
    jars = Path(pyspark.__file__).parent / "jars"
    os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
    try:
        port, token, process = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=str(jars / "*"),
            javaopts=_SMALL_JAVA,
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
            java_path=str(find_java().home / "bin" / "java"),
        )
    except (Py4JError, OSError, ValueError, StopIteration):
        yield None
        return
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield gateway.jvm
    finally:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        process.kill()
        process.wait()
