"""`klamm sql "SELECT ..."`: Spark SQL over topics and tables, without a pipeline file; `klamm sql` alone is a shell."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.client_settings import client_settings
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT32_MAX,
    Bootstrap,
    Output,
    Properties,
    check_reachable,
    command_group,
    explain,
    run_typer,
)
from klamm.cli.output import Format, UsageError, notice
from klamm.cli.sql.answers import show_answer
from klamm.pipeline.spec import RecordFormat
from klamm.pipeline.spec.ddl import BadSchema, columns_of

if TYPE_CHECKING:
    from klamm.cli.sql.asker import Asker
    from klamm.pipeline.adhoc.answer import Answer
    from klamm.pipeline.adhoc.sampling import Looker

app = command_group("Ask topics and tables with SQL.", no_args_is_help=False)

DEFAULT_ROWS = 100
_TOPIC_AND_COLUMNS = re.compile(r"\s*([A-Za-z0-9._-]{1,249})\s*:\s*(.+)", re.DOTALL)

Warehouse = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        metavar="DIR",
        help="Where the tables are kept [default: klamm's own folder, as for pipelines].",
    ),
]
ValueFormat = Annotated[
    RecordFormat | None,
    typer.Option("--format", "-f", help="How values are encoded [default: learned from a sample]."),
]


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "sql", arguments)


@app.command(
    epilog="Topics are tables: columns of JSON values are learned from a sample, and _key, _topic, _partition, _offset "
    "and _timestamp are always there. Other values are one column, `value`. A name with dots or dashes stands in "
    "backticks. Tables that pipelines keep are lake.default.NAME, or just NAME where no topic has it. SHOW TABLES "
    "shows both."
)
def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL",
            help="What to ask; several statements with semicolons. Without it: a shell, or in a pipe what stdin says.",
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            "--schema",
            metavar="'TOPIC: COLUMNS'",
            help="Columns of a topic, as 'clicks: user string, at timestamp'; repeatable.",
        ),
    ] = None,
    format: ValueFormat = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", min=0, max=INT32_MAX - 1, help="Most rows to print; 0 prints all."
        ),
    ] = DEFAULT_ROWS,
    warehouse: Warehouse = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Ask topics and tables with SQL, once or in a shell."""
    schemas = dict(topic_and_columns(text, format) for text in schema or ())
    client = client_settings(properties)
    check_reachable(bootstrap)
    from klamm.cli.pipeline.targets import check_spark_is_installed
    from klamm.pipeline.running import registry

    check_spark_is_installed()
    lake = warehouse or registry.warehouse()
    with speaking(bootstrap, client) as looker:
        from klamm.cli.sql.asker import Asker
        from klamm.pipeline.adhoc.known import Known
        from klamm.pipeline.adhoc.statements import split
        from klamm.pipeline.place import Place

        place = Place(bootstrap=bootstrap, client=client, checkpoint="", warehouse=lake)
        known = Known(looker, lake, schemas, format, say=notice)
        keeps = query is None or len(split(query).all) > 1
        with Asker(known, place, limit=limit or None, keeps=keeps) as asker:
            if query is None and sys.stdin.isatty() and sys.stdout.isatty():
                from klamm.cli.sql.shell import run_shell

                run_shell(asker, output)
            else:
                for answer in _answers(asker, query):
                    print_answer(answer, output, limit)


def _answers(asker: Asker, query: str | None) -> Iterator[Answer]:
    from klamm.pipeline.adhoc.statements import split

    if query is not None:
        # Nothing at all is for Spark to refuse.
        statements = split(query).all or [query]
        for index, sql in enumerate(statements):
            if (answer := asker.without_spark(sql)) is None:
                # All that follow are looked at before the first of them is asked.
                asker.begin(statements[index:])
                answer = asker.with_spark(sql)
            yield answer
        return
    # As they come, so that another program may ask one question after the other.
    text = ""
    for line in _lines():
        found = split(text + line)
        yield from map(asker.ask, found.statements)
        text = found.rest
    yield from map(asker.ask, split(text).all)


def _lines() -> Iterator[str]:
    try:
        yield from sys.stdin
    except UnicodeDecodeError as error:
        raise UsageError("the SQL is not text in UTF-8") from error


def topic_and_columns(text: str, format: RecordFormat | None) -> tuple[str, str]:
    found = _TOPIC_AND_COLUMNS.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--schema {text!r} is not of the form 'TOPIC: COLUMNS'",
            hint="--schema 'clicks: user string, at timestamp'",
        )
    check_columns(found[2], format)
    return found[1], found[2]


def check_columns(text: str, format: RecordFormat | None) -> None:
    if format is RecordFormat.AVRO:
        return  # a schema in JSON, which Spark reads
    try:
        columns_of(text)
    except BadSchema as bad:
        raise UsageError(f"the schema {text!r} names no columns", why=str(bad)) from bad


@contextmanager
def speaking(bootstrap: str, client: dict[str, str]) -> Iterator[Looker]:
    """What the cluster refuses meanwhile is told as for every command."""
    from confluent_kafka import KafkaException

    from klamm.pipeline.adhoc.sampling import Looker
    from klamm.pipeline.client import BadClientSettings, for_librdkafka

    try:
        with Looker(bootstrap, for_librdkafka(client)) as looker:
            yield looker
    except BadClientSettings as bad:
        raise UsageError(str(bad)) from bad
    except KafkaException as error:
        raise explain("the topics cannot be read", error.args[0]) from error


def print_answer(answer: Answer, output: Format | None, limit: int | None) -> None:
    show_answer(answer, output)
    if answer.has_more:
        notice(f"these are the first {limit} rows; --limit 0 shows all")
