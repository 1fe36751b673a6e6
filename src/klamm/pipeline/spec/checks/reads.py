"""Sources and tables: what they read, how it is decoded, where it starts, how late it may come."""

import json
import re
import warnings
from functools import lru_cache
from typing import Any

from klamm.pipeline.client import is_of_the_connection
from klamm.pipeline.spec.checks.report import Report
from klamm.pipeline.spec.ddl import TIME_TYPES, BadSchema, Column, columns_of
from klamm.pipeline.spec.model.sinks import TopicSink
from klamm.pipeline.spec.model.sources import (
    NO_LINES,
    RESERVED_COLUMNS,
    FileFormat,
    FileSource,
    JdbcSource,
    Otherwise,
    RecordFormat,
    Source,
    TopicSource,
    Watermark,
)
from klamm.pipeline.spec.model.values import FromOffsets
from klamm.pipeline.spec.nodes import quoted
from klamm.pipeline.spec.problems import nearest


def check_reads(report: Report) -> None:
    pipeline = report.pipeline
    if not pipeline.sources:
        report.say(pipeline, "sources", expected="at least one source", found="an empty list")
    for source in pipeline.sources:
        _check_source(source, report)
        if isinstance(source, TopicSource):
            check_connection(source, report)
        _check_reserved(source, report)
        if source.watermark:
            check_watermark(source.watermark, known_columns(source, report), report)
    for table in pipeline.tables:
        if isinstance(table, JdbcSource):
            _check_jdbc(table, report)
        if not hasattr(table, "max_per_batch"):
            continue
        for key in (
            "watermark",
            "max_per_batch",
            "malformed",
            "unknown_fields",
            "incremental",
            "after",
        ):
            if getattr(table, key, None) is not None:
                found = f"a table with {key}"
                report.say(table, key, expected="such a key only under source", found=found)
    _check_shared_watermark(report)


def check_connection(end: TopicSource | TopicSink, report: Report) -> None:
    """The lag, the markers and the other ends need the same login."""
    for name, _ in end.options:
        if is_of_the_connection(name):
            expected = (
                f"{name.removeprefix('kafka.')} under client, for every connection to the cluster"
            )
            report.say(end, "options", expected=expected, found=f"{name} for this one")


def known_columns(source: Source, report: Report) -> tuple[Column, ...] | None:
    """The columns of a source, as far as the file tells and could be read."""
    if report.is_bad(source, "schema", "format", "metadata", "headers"):
        return None
    try:
        return source.columns() or None
    except BadSchema:
        return None  # said where the schema is checked


def _check_reserved(source: Source, report: Report) -> None:
    try:
        columns = columns_of(getattr(source, "schema", None) or "")
    except BadSchema:
        return  # said elsewhere, or none of SQL's
    for column in columns:
        if column.name.lower() in RESERVED_COLUMNS:
            expected = f"other names than {', '.join(sorted(RESERVED_COLUMNS))}"
            report.say(source, "schema", expected=expected, found=quoted(column.name))


def check_watermark(
    watermark: Watermark, columns: tuple[Column, ...] | None, report: Report
) -> None:
    if columns is None:
        return
    types = {column.name.lower(): column.type for column in columns}
    kind = types.get(watermark.column.lower())
    if kind is None:
        near = nearest(watermark.column, [column.name for column in columns])
        expected = f"a column of the schema ({', '.join(types)})"
        found = quoted(watermark.column)
        report.say(watermark, "column", expected=expected, found=found, near=near)
    elif kind not in TIME_TYPES:
        found = f"{quoted(watermark.column)} of type {kind}"
        report.say(watermark, "column", expected="a column of type timestamp", found=found)


def _check_shared_watermark(report: Report) -> None:
    pipeline = report.pipeline
    if pipeline.watermark is None or report.lost_any("sources"):
        return
    if len(pipeline.sources) > 1:
        expected = "a watermark under each source, because there are several"
        report.say(pipeline, "watermark", expected=expected, found="one for all")
    elif pipeline.sources:
        source = pipeline.sources[0]
        if source.watermark:
            expected = "one watermark: here or under the source"
            report.say(pipeline, "watermark", expected=expected, found="both")
        check_watermark(pipeline.watermark, known_columns(source, report), report)


def _check_source(source: Source, report: Report) -> None:
    if isinstance(source, JdbcSource):
        _check_jdbc(source, report)
        return
    if source.malformed is Otherwise.DEAD_LETTER and report.pipeline.dead_letter is None:
        _need_dead_letter(source, "malformed", report)
    _check_unknown_fields(source, report)
    if isinstance(source, FileSource):
        if source.format is FileFormat.TEXT and source.schema:
            _no_schema(source, report)
        return
    _check_topics(source, report)
    _check_schema(source, report)
    _check_start(source, report)


def _check_unknown_fields(source: TopicSource | FileSource, report: Report) -> None:
    if source.unknown_fields is None or report.is_bad(source, "format"):
        return
    if source.format.value != RecordFormat.JSON.value:
        report.say(
            source,
            "unknown_fields",
            expected="such a key only with format json, whose fields have names",
            found=f"format {source.format}",
            involves=("format",),
        )
    elif isinstance(source, FileSource) and NO_LINES & {name.lower() for name, _ in source.options}:
        report.say(
            source,
            "unknown_fields",
            expected="such a key only where each line of a file is an object",
            found="options for other files",
            involves=("options",),
        )


def _need_dead_letter(section: object, key: str, report: Report) -> None:
    if not report.are_bad("dead_letter"):
        expected = "a topic under dead_letter at the top of the file to go with it"
        report.say(section, key, expected=expected, found="dead_letter without one")


def _check_topics(source: TopicSource, report: Report) -> None:
    if source.topics and source.pattern:
        report.say(source, "pattern", expected="either topics or a pattern", found="both")
    if not source.topics and not source.pattern and not report.is_bad(source, "pattern"):
        report.say(source, "topics", expected="a topic, topics or a pattern", found="none")
    if len(set(source.topics)) < len(source.topics):
        report.say(source, "topics", expected="each topic once", found="one of them twice")
    if source.pattern and not is_pattern(source.pattern):
        found = quoted(source.pattern)
        report.say(source, "pattern", expected="a regular expression", found=found)


def _check_schema(source: TopicSource, report: Report) -> None:
    if source.format in (RecordFormat.TEXT, RecordFormat.BYTES):
        if source.schema:
            _no_schema(source, report)
    elif source.schema is None:
        found = f"format {source.format} without one"
        expected = "a schema, which json, csv and avro need"
        report.say(source, "schema", expected=expected, found=found, involves=("format",))
    elif source.format is RecordFormat.AVRO:
        check_avro(source, source.schema, report)
    else:
        try:
            columns_of(source.schema)
        except BadSchema as bad:
            expected = f'columns such as "user string, at timestamp": {bad}'
            found = quoted(source.schema)
            report.say(source, "schema", expected=expected, found=found, involves=("format",))


def check_avro(section: object, schema: str, report: Report) -> None:
    try:
        is_avro = isinstance(json.loads(schema), dict)
    except (ValueError, RecursionError):
        is_avro = False
    if not is_avro:
        expected = "an Avro schema, a JSON object"
        report.say(section, "schema", expected=expected, found=quoted(schema), involves=("format",))


def _no_schema(source: TopicSource | FileSource, report: Report) -> None:
    expected = f"no schema: {source.format} gives the one column value"
    report.say(source, "schema", expected=expected, found="one", involves=("format",))


def _check_start(source: TopicSource, report: Report) -> None:
    if not isinstance(source.start, FromOffsets) or report.is_bad(source, "topics", "pattern"):
        return
    named = sorted({each.topic for each in source.start.offsets})
    if "" in named and (len(source.topics) != 1 or source.pattern):
        expected = "{topic: {partition: offset}}, because several topics are read"
        report.say(source, "start", expected=expected, found="partitions without a topic")
    for topic in named:
        if topic and not source.pattern and topic not in source.topics:
            expected = f"topics that are read ({', '.join(source.topics)})"
            near = nearest(topic, source.topics)
            report.say(source, "start", expected=expected, found=quoted(topic), near=near)


def _check_jdbc(source: JdbcSource, report: Report) -> None:
    if (source.table is None) == (source.query is None):
        found = "both" if source.table else "neither"
        report.say(
            source, "table", expected="either table or query", found=found, involves=("query",)
        )
    for key in ("after", "max_per_batch"):
        if getattr(source, key) is not None and source.incremental is None:
            expected = "incremental to go with it"
            report.say(
                source, key, expected=expected, found=f"{key} alone", involves=("incremental",)
            )


def is_pattern(pattern: str) -> bool:
    """Whether it is a regular expression. Java's dialect is Spark's; what either of ours takes is let pass."""
    return _compiled(pattern) is not None or _is_python_pattern(pattern)


def matches(pattern: str, topic: str) -> bool:
    """Whether a pattern takes a topic, as far as it can be known here (RE2 never takes long)."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(topic) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:  # re2 carries no types
    import re2  # type: ignore[import-untyped,unused-ignore]  # here: few files need it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return None


def _is_python_pattern(pattern: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
    return True
