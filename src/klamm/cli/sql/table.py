"""`klamm table TOPIC`: keeps a topic as an Iceberg table. It writes a small pipeline file and runs it as any other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.client_settings import client_settings
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Output,
    Properties,
    check_reachable,
    command_group,
    run_typer,
)
from klamm.cli.output import CommandError, UsageError, notice
from klamm.cli.sql.sql import ValueFormat, Warehouse, check_columns, speaking
from klamm.pipeline.names import iceberg_name
from klamm.pipeline.spec import (
    BadPipeline,
    Otherwise,
    Pipeline,
    RecordFormat,
    SqlStep,
    TableSink,
    TopicSource,
    parse,
    to_dict,
)
from klamm.pipeline.spec.model.values import NAME, TABLE, TOPIC
from klamm.pipeline.spec.problems import nearest

app = command_group("Keep a topic as an Iceberg table.")

_FILE = "pipeline.yaml"
_LONGEST_NAME = 90
_LONGEST_TOPIC = 249
_DEAD = ".dead"
_COLUMNS = "SELECT * EXCEPT (_topic, _partition), _partition AS _topic_partition FROM input"


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "table", arguments)


@app.command()
def table(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="The table [default: named after the topic]."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema", metavar="COLUMNS", help="As 'user string, at timestamp' [default: learned]."
        ),
    ] = None,
    format: ValueFormat = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there now, and end.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    warehouse: Warehouse = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Keep a topic as an Iceberg table: as long as this runs, or with --once as it is now.

    Records that do not fit are counted and kept in the topic TOPIC.dead. The next call goes on where this one stopped,
    with the same columns unless --schema names others.
    """
    if not re.fullmatch(TOPIC.form or "", topic):
        raise UsageError(f"{topic[:60]!r} is not {TOPIC.words}")
    if schema is not None:
        check_columns(schema, format)
    if name is not None and not re.fullmatch(TABLE.form or "", name):
        raise UsageError(f"--as {name!r} is not {TABLE.words}")
    client = client_settings(properties)
    check_reachable(bootstrap)
    from klamm.cli.pipeline.run import Wishes, run_file
    from klamm.cli.pipeline.targets import check_spark_is_installed

    check_spark_is_installed()
    file = file_of(topic)
    kept = _kept(file)
    if kept is None or any(wish is not None for wish in (name, schema, format)):
        kept = _learned(
            bootstrap,
            client,
            topic,
            name or _table_of(kept) or default_table(topic),
            schema,
            format,
        )
        _write(file, kept)
    else:
        notice(f"{topic}: with the columns of {file}; --schema names others")
    wishes = Wishes(
        once=once, bootstrap=bootstrap, warehouse=warehouse, client=client, output=output
    )
    place = f" --warehouse {warehouse}" if warehouse else ""
    question = f'klamm sql{place} "SELECT * FROM {iceberg_name(_table_of(kept) or "")} LIMIT 10"'
    if not once:
        notice(f"ask it with: {question}")
    run_file(file, wishes)
    if once:
        notice(f"ask it with: {question}")


def pipeline_name(topic: str) -> str:
    """A topic's name may be longer than a pipeline's."""
    name = f"table.{_shortened(topic, _LONGEST_NAME)}"
    assert re.fullmatch(NAME.form or "", name), name
    return name


def _shortened(topic: str, length: int) -> str:
    """Two topics stay two."""
    if len(topic) <= length:
        return topic
    digest = hashlib.sha256(topic.encode()).hexdigest()[:8]
    return f"{topic[: length - 9]}-{digest}"


def default_table(topic: str) -> str:
    name = re.sub("[^A-Za-z0-9_]", "_", topic)
    return name if name[0].isalpha() else f"t_{name}"


def file_of(topic: str) -> Path:
    from klamm.pipeline.running import registry

    return registry.state_folder(pipeline_name(topic)) / _FILE


def dead_letter_topic(topic: str) -> str:
    """Where records go that do not fit the columns."""
    return f"{_shortened(topic, _LONGEST_TOPIC - len(_DEAD))}{_DEAD}"


def pipeline_of(source: TopicSource, table: str) -> Pipeline:
    [topic] = source.topics
    return Pipeline(
        name=pipeline_name(topic),
        sources=(replace(source, malformed=Otherwise.DEAD_LETTER),),
        dead_letter=dead_letter_topic(topic),
        # Iceberg keeps the name _partition for itself, and a table of one topic need not repeat its name.
        steps=(SqlStep(sql=_COLUMNS),),
        sinks=(TableSink(table=table),),
    )


def _learned(
    bootstrap: str,
    client: dict[str, str],
    topic: str,
    table: str,
    schema: str | None,
    format: RecordFormat | None,
) -> Pipeline:
    from klamm.pipeline.adhoc.topics import SchemaNeeded, source_of

    with speaking(bootstrap, client) as looker:
        topics = looker.topics()
        if topic not in topics:
            near = nearest(topic, topics)
            hint = f"did you mean {near}?" if near else "`klamm topic list` shows what exists"
            raise CommandError(f"there is no topic {topic}", hint=hint)
        try:
            found = source_of(looker, topic, schema=schema, format=format)
        except SchemaNeeded as needed:
            raise UsageError(str(needed), hint="--schema 'user string, ms int'") from needed
    if found.learned:
        notice(found.learned)
    if found.others:
        letters = dead_letter_topic(topic)
        notice(
            f"  {found.others} of them are no JSON objects: such records go to the topic {letters}"
        )
    return pipeline_of(found.source, table)


def _table_of(pipeline: Pipeline | None) -> str | None:
    sink = pipeline.sinks[0] if pipeline else None
    return sink.table if isinstance(sink, TableSink) else None


def _kept(file: Path) -> Pipeline | None:
    """What an earlier call wrote; a file that is not whole is written anew."""
    try:
        return parse(file.read_text(), str(file))
    except (OSError, UnicodeDecodeError, BadPipeline):
        return None


def _write(file: Path, pipeline: Pipeline) -> None:
    import yaml

    head = "# Written by `klamm table`, and run by it again.\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + yaml.safe_dump(to_dict(pipeline), sort_keys=False, allow_unicode=True))
