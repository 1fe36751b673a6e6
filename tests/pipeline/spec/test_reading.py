"""What a good file reads to, and that every problem of a bad one is told at once."""

import subprocess
import sys

import pytest

from klamm.pipeline.spec import (
    BadPipeline,
    ConsoleSink,
    Delivery,
    Duration,
    Edge,
    Expectation,
    FromOffsets,
    FromTime,
    JdbcSource,
    Otherwise,
    PartitionOffset,
    Pipeline,
    PythonStep,
    SqlStep,
    TableSink,
    TopicSink,
    TopicSource,
    Trigger,
    TriggerWhen,
    Watermark,
    filled,
    from_dict,
    parse,
    to_dict,
)
from pipeline.spec.examples import CLICKS, COPY, GOOD, LINES, ORDERS
from pipeline.spec.mistakes import problems_of


def test_a_file_reads_to_the_model() -> None:
    assert parse(CLICKS) == Pipeline(
        name="page-stats",
        sources=(
            TopicSource(
                topics=("clicks",), schema="user string, page string, ms int, at timestamp"
            ),
        ),
        watermark=Watermark(column="at", delay=Duration(10_000)),
        steps=(
            SqlStep(
                sql="SELECT window(at, '10 seconds') w, page, count(*) n, avg(ms) ms FROM input GROUP BY 1, page"
            ),
            PythonStep(python="mypipes.enrich:add_country"),
        ),
        expect=(
            Expectation(name="sane_latency", check="ms >= 0", otherwise=Otherwise.DEAD_LETTER),
        ),
        dead_letter="clicks.dlq",
        sinks=(
            TopicSink(topic="page-stats", key="page", delivery=Delivery.EXACTLY_ONCE),
            TableSink(table="page_stats"),
        ),
    )


@pytest.mark.parametrize("name", GOOD)
def test_a_pipeline_written_as_plain_values_reads_back(name: str) -> None:
    pipeline = parse(GOOD[name])

    assert from_dict(to_dict(pipeline)) == pipeline


def test_start_positions_are_offsets_a_time_or_an_end() -> None:
    first, second = parse(ORDERS).sources
    (clicks,) = parse(CLICKS).sources

    starts = [each.start for each in (first, second, clicks) if isinstance(each, TopicSource)]

    offsets = (
        PartitionOffset("orders-eu", 0, 42),
        PartitionOffset("orders-eu", 1, 7),
        PartitionOffset("orders-us", 0, 0),
    )
    assert starts == [FromOffsets(offsets), FromTime(1_794_736_800_000), Edge.EARLIEST]


def test_a_time_may_stand_without_its_sign() -> None:
    text = CLICKS.replace("start: earliest", "start: 1970-01-02")

    (source,) = parse(text).sources

    assert isinstance(source, TopicSource)
    assert source.start == FromTime(86_400_000)


@pytest.mark.parametrize(
    ("written", "trigger"),
    [
        ("{every: 500 ms}", Trigger(TriggerWhen.EVERY, Duration(500))),
        ("once", Trigger(TriggerWhen.ONCE, None)),
        ("{available_now: true}", Trigger(TriggerWhen.AVAILABLE_NOW, None)),
    ],
)
def test_triggers(written: str, trigger: Trigger) -> None:
    assert parse(LINES.replace("trigger: once", f"trigger: {written}")).trigger == trigger


def test_words_that_older_yaml_takes_for_something_else_are_words() -> None:
    text = "name: 007\nsource: {topic: on, format: text}\nsink: {topic: 2026-11-15}\n"

    pipeline = parse(text)

    assert to_dict(pipeline) == {
        "name": "007",
        "source": {"topic": "on", "format": "text"},
        "sink": {"topic": "2026-11-15"},
    }


def test_a_list_whose_items_are_all_commented_out_is_empty() -> None:
    pipeline = parse(LINES + "steps:\n  # - sql: SELECT 1\nexpect:\n")

    assert (pipeline.steps, pipeline.expect) == ((), ())


def test_all_problems_are_told_at_once_in_the_order_of_the_text() -> None:
    text = (
        CLICKS.replace("name: page-stats\n", "")
        .replace("column: at", "column: att")
        .replace("exactly_once", "exactly_onse")
        .replace("iceberg", "icberg")
        .replace("otherwise: dead_letter", "otherwise: dead_letter, on: step1")
    )

    with pytest.raises(BadPipeline) as bad:
        parse(text, "clicks.yaml")

    assert [line.split(": expected")[0] for line in str(bad.value).splitlines()] == [
        "clicks.yaml:1:1",
        "clicks.yaml:6:21: watermark.column",
        "clicks.yaml:11:55: expect[0].otherwise",
        "clicks.yaml:14:60: sinks[0].delivery",
        "clicks.yaml:15:33: sinks[1].format",
    ]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "just words", "[a, list]", "--- a\n--- b"])
def test_what_is_no_mapping_is_no_pipeline(text: str) -> None:
    assert len(problems_of(text)) == 1


def test_deep_nesting_is_a_problem_and_no_crash() -> None:
    assert problems_of("[" * 500) == ["expected values nested a few levels deep, found far more"]


def test_aliases_that_multiply_are_a_problem_and_no_crash() -> None:
    doubling = "\n".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]" for i in range(40))

    assert problems_of(f"a0: &a0 x\n{doubling}")[0].endswith("found far more")


def test_a_sink_promises_the_strongest_it_can_unless_told() -> None:
    orders = parse(ORDERS)

    promised = [orders.delivery_of(sink) for sink in orders.sinks]

    assert promised == [Delivery.EXACTLY_ONCE] * 4 + [Delivery.AT_LEAST_ONCE]
    assert parse(LINES).delivery_of(parse(LINES).sinks[0]) is Delivery.AT_LEAST_ONCE


def test_sinks_have_names_fit_for_folders() -> None:
    text = ORDERS.replace("name: archive, ", "").replace("table: paid,", "table: public.paid,")

    assert [sink.label for sink in parse(text).sinks] == [
        "jdbc.public.paid",
        "table.lake.paid",
        "parquet.data-paid",
        "topic.paid-orders",
        "console",
    ]


def test_steps_and_sinks_know_what_they_read() -> None:
    orders = parse(ORDERS)

    assert [orders.input_of(i) for i in range(1, 5)] == ["paid", "unique_orders", "step3", "paid"]
    assert [orders.input_of_sink(sink) for sink in orders.sinks] == [
        "unique_orders",
        "paid",
        "paid",
        "daily",
        "daily",
    ]
    assert orders.group == "pipeline.paid-orders"


def test_variables_are_filled_in_where_connections_are_described() -> None:
    pipeline = filled(parse(COPY), {"PGUSER": "shop", "PGPASSWORD": "hunter2"})

    (source,) = pipeline.sources
    assert isinstance(source, JdbcSource)
    assert (source.user, source.password) == ("shop", "hunter2")
    assert "hunter2" not in repr(pipeline)
    assert "hunter2" not in str(to_dict(pipeline, hide_secrets=True))


def test_a_variable_that_is_not_set_is_told_with_its_key() -> None:
    with pytest.raises(BadPipeline) as bad:
        filled(parse(ORDERS), {"KEY_PASSWORD": "x", "PGPASSWROD": "y"})

    assert [str(problem) for problem in bad.value.problems] == [
        "tables[1].password: expected the variable PGPASSWORD in the environment, found it not set"
        " (did you mean PGPASSWROD?)"
    ]


def test_a_default_stands_in_for_a_variable() -> None:
    given = {"KEY_PASSWORD": "x", "PGPASSWORD": "y"}

    assert filled(parse(ORDERS), given).bootstrap == "localhost:9092"
    assert filled(parse(ORDERS), {**given, "BROKERS": "b:1"}).bootstrap == "b:1"


def test_secrets_among_the_client_settings_are_hidden() -> None:
    text = LINES + "client: {sasl.jaas.config: secret stuff, sasl.mechanism: PLAIN}\n"

    shown = to_dict(parse(text), hide_secrets=True)

    assert shown["client"] == {"sasl.jaas.config": "***", "sasl.mechanism": "PLAIN"}


def test_plain_values_of_other_types_are_a_problem() -> None:
    with pytest.raises(BadPipeline) as bad:
        from_dict({"name": "x", "source": {"topic": {1, 2}}, "sink": ConsoleSink(console=True)})

    assert str(bad.value.problems[0]).startswith("source.topic: expected text, a number")


def test_importing_the_model_does_not_import_spark() -> None:
    code = "import sys, klamm.pipeline.spec; print('pyspark' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
