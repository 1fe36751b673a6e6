"""Sinks, the dead-letter topic and the trigger: what can be promised, and what would feed itself."""

from klamm.pipeline.spec.checks.reads import check_avro, check_connection, matches
from klamm.pipeline.spec.checks.report import Report
from klamm.pipeline.spec.model.sinks import (
    ConsoleSink,
    Delivery,
    JdbcSink,
    Sink,
    TableSink,
    TopicSink,
    WriteMode,
)
from klamm.pipeline.spec.model.sources import RecordFormat, TopicSource
from klamm.pipeline.spec.model.steps import PythonStep, SqlStep
from klamm.pipeline.spec.model.values import TriggerWhen
from klamm.pipeline.spec.nodes import quoted
from klamm.pipeline.spec.problems import one_of


def check_writes(report: Report) -> None:
    pipeline = report.pipeline
    if not pipeline.sinks:
        report.say(pipeline, "sinks", expected="at least one sink", found="an empty list")
    labels: set[str] = set()
    for sink in pipeline.sinks:
        if sink.label in labels:
            expected = "a name that no other sink has"
            report.say(sink, "name", expected=expected, found=quoted(sink.label))
        labels.add(sink.label)
        _check_sink(sink, report)
    _check_dead_letter(report)
    if pipeline.trigger.when is TriggerWhen.CONTINUOUS:
        _check_continuous(report)


def _check_sink(sink: Sink, report: Report) -> None:
    if sink.delivery and sink.delivery not in sink.deliveries:
        possible = one_of([each.value for each in sink.deliveries])
        hint = " (a database: with mode upsert)" if isinstance(sink, JdbcSink) else ""
        expected = f"{possible}, which is all that this sink can give{hint}"
        found = sink.delivery.value
        report.say(sink, "delivery", expected=expected, found=found, involves=("mode",))
    if isinstance(sink, TopicSink):
        _check_topic_sink(sink, report)
    elif isinstance(sink, TableSink | JdbcSink):
        _check_key(sink, report)
    elif isinstance(sink, ConsoleSink) and not sink.console:
        report.say(sink, "console", expected="true, or no such sink", found="false")


def _check_topic_sink(sink: TopicSink, report: Report) -> None:
    check_connection(sink, report)
    if sink.format is RecordFormat.AVRO and sink.schema is None:
        expected = "an Avro schema, which avro needs"
        report.say(sink, "schema", expected=expected, found="none", involves=("format",))
    elif sink.format is RecordFormat.AVRO and sink.schema:
        check_avro(sink, sink.schema, report)
    elif sink.schema:
        expected = f"no schema: {sink.format} needs none"
        report.say(sink, "schema", expected=expected, found="one", involves=("format",))
    if reader := _reader_of(sink.topic, report):
        expected = f"a topic that the source {reader.name} does not read: it would feed itself"
        report.say(sink, "topic", expected=expected, found=quoted(sink.topic))


def _check_key(sink: TableSink | JdbcSink, report: Report) -> None:
    if sink.mode is WriteMode.UPSERT and not sink.key:
        expected = "the columns of the key, which upsert needs"
        report.say(sink, "key", expected=expected, found="none", involves=("mode",))
    if sink.mode is WriteMode.APPEND and sink.key:
        expected = "mode: upsert to go with it"
        report.say(
            sink, "key", expected=expected, found="a key with mode append", involves=("mode",)
        )


def _check_dead_letter(report: Report) -> None:
    pipeline = report.pipeline
    if pipeline.dead_letter is None:
        return
    if reader := _reader_of(pipeline.dead_letter, report):
        expected = f"a topic that the source {reader.name} does not read: it would feed itself"
        report.say(pipeline, "dead_letter", expected=expected, found=quoted(pipeline.dead_letter))
    if any(isinstance(s, TopicSink) and s.topic == pipeline.dead_letter for s in pipeline.sinks):
        expected = "a topic of its own"
        report.say(pipeline, "dead_letter", expected=expected, found="the topic of a sink")


def _reader_of(topic: str, report: Report) -> TopicSource | None:
    for source in report.pipeline.sources:
        if isinstance(source, TopicSource) and (
            topic in source.topics or (source.pattern and matches(source.pattern, topic))
        ):
            return source
    return None


def _check_continuous(report: Report) -> None:
    """Spark's continuous processing maps records from topics to topics, at least once, and does nothing else."""
    pipeline = report.pipeline
    if not all(isinstance(source, TopicSource) for source in pipeline.sources):
        _not_continuous("only topics as sources", "another source", report)
    if not all(isinstance(step, SqlStep | PythonStep) for step in pipeline.steps):
        _not_continuous("only sql and python steps", "another step", report)
    if not all(isinstance(sink, TopicSink | ConsoleSink) for sink in pipeline.sinks):
        _not_continuous("only topics and the console as sinks", "another sink", report)
    if pipeline.expect or pipeline.dead_letter:
        _not_continuous("neither expect nor dead_letter", "one of them", report)
    for sink in pipeline.sinks:
        if sink.delivery is Delivery.EXACTLY_ONCE and sink.delivery in sink.deliveries:
            expected = "at_least_once, because the trigger is continuous"
            report.say(sink, "delivery", expected=expected, found=sink.delivery.value)


def _not_continuous(rule: str, found: str, report: Report) -> None:
    expected = f"{{every: ...}}, or with continuous {rule}"
    report.say(report.pipeline, "trigger", expected=expected, found=f"continuous with {found}")
