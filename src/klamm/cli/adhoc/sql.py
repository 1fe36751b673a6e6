"""`klamm sql "SELECT ..."`: Spark SQL over topics and tables, once, without a pipeline file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT32_MAX,
    Bootstrap,
    Output,
    Properties,
    check_reachable,
    command_group,
    explain,
    key_values,
    run_typer,
)
from klamm.cli.output import CommandError, Format, UsageError, notice, show
from klamm.pipeline.spec import RecordFormat
from klamm.pipeline.spec.ddl import BadSchema, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from klamm.pipeline.adhoc.asking import Answer
    from klamm.pipeline.adhoc.sampling import Looker

app = command_group("Ask topics and tables with SQL.")

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
    "backticks. Tables that pipelines keep are lake.default.NAME, or just NAME where no topic has it."
)
def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", help="What to ask.")],
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
    """Ask topics and tables with SQL."""
    schemas = dict(topic_and_columns(text, format) for text in schema or ())
    client = key_values(properties, option="-X")
    check_reachable(bootstrap)
    from klamm.cli.pipeline.targets import check_spark_is_installed
    from klamm.pipeline.running import runs

    check_spark_is_installed()
    lake = warehouse or runs.warehouse()
    with (
        speaking(bootstrap, client) as looker,
        spark_for_tables(lake, needs_avro=format is RecordFormat.AVRO) as spark,
    ):
        from klamm.pipeline.adhoc.asking import Desk, NothingOfThatName, WrongSql
        from klamm.pipeline.adhoc.topics import SchemaNeeded
        from klamm.pipeline.place import Place

        place = Place(bootstrap=bootstrap, client=client, checkpoint="", warehouse=lake)
        desk = Desk(spark, place, looker, schemas, format, say=notice)
        try:
            answer = desk.ask(query, limit=limit or None)
        except (WrongSql, SchemaNeeded) as wrong:
            raise UsageError(str(wrong)) from wrong
        except NothingOfThatName as missing:
            hint = missing.hint or "`klamm topic list` shows the topics"
            raise CommandError(str(missing), hint=hint) from missing
    _print(answer, output, limit)


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


@contextmanager
def spark_for_tables(warehouse: str, *, needs_avro: bool = False) -> Iterator[SparkSession]:
    """Spark for one question."""
    from klamm.cli.pipeline.fetching import bring
    from klamm.pipeline.jars import Use, jars_for
    from klamm.pipeline.java import JavaMissing
    from klamm.pipeline.session import SessionSettings, a_session

    uses = (Use.TOPICS, Use.ICEBERG, *((Use.AVRO,) if needs_avro else ()))
    bring(jars_for(uses))
    notice("Spark starts (some seconds)")
    settings = SessionSettings(name="klamm sql", uses=uses, warehouse=warehouse, log_level="OFF")
    try:
        with a_session(settings) as spark:
            yield spark
    except JavaMissing as missing:
        raise CommandError("Spark cannot start", why=str(missing)) from missing


def _print(answer: Answer, output: Format | None, limit: int) -> None:
    from klamm.pipeline.adhoc.values import plain

    show(({name: plain(value) for name, value in row.items()} for row in answer.rows), output)
    if answer.has_more:
        notice(f"these are the first {limit} rows; --limit 0 shows all")
