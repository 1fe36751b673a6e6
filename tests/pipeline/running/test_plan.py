"""What will run, told without Spark."""

import subprocess
import sys

from klamm.pipeline.jars import Use
from klamm.pipeline.plan import DeadLetters, Flow, labels_in, plan_of
from klamm.pipeline.spec import Delivery, OutputMode, Pipeline, from_dict

SOURCE = {"topic": "clicks", "schema": "user string, page string"}
STEPS = [
    {"sql": "SELECT page, count(*) n FROM input GROUP BY page", "view": "stats"},
    {"sql": "SELECT * FROM previous WHERE n > 9"},
]


def a_pipeline(**more: object) -> Pipeline:
    facts = {"name": "p", "source": SOURCE, "steps": STEPS, "sinks": [{"topic": "out"}], **more}
    return from_dict(facts)  # type: ignore[arg-type]


def test_sinks_of_one_view_and_output_mode_share_a_query() -> None:
    sinks = [
        {"topic": "out", "output": "update"},
        {"table": "stats", "from": "stats"},
        {"console": True, "output": "update"},
        {"table": "all", "output": "complete", "mode": "upsert", "key": "page"},
    ]

    plan = plan_of(a_pipeline(sinks=sinks))

    assert [(q.name, q.view, q.output) for q in plan.queries] == [
        ("console+topic.out", "step2", OutputMode.UPDATE),
        ("table.stats", "stats", OutputMode.APPEND),
        ("table.all", "step2", OutputMode.COMPLETE),
    ]
    assert {q.sources for q in plan.queries} == {("input",)}


def test_name_of_a_query_is_the_same_when_sinks_are_reordered() -> None:
    sinks = [{"topic": "out"}, {"table": "out"}, {"console": True}]

    there, back = (plan_of(a_pipeline(sinks=each)) for each in (sinks, sinks[::-1]))

    assert there.queries[0].name == back.queries[0].name == "console+table.out+topic.out"
    assert labels_in(there.queries[0].name) == {"console", "table.out", "topic.out"}


def test_name_of_a_query_fits_a_file_system() -> None:
    sinks = [{"topic": letter * 240} for letter in "abc"]

    [one] = plan_of(a_pipeline(sinks=sinks)).queries
    [other] = plan_of(a_pipeline(sinks=sinks[:2])).queries

    assert len(one.name) <= 200
    assert one.name != other.name


def test_delivery_is_the_strongest_that_the_sink_can_give() -> None:
    [query] = plan_of(a_pipeline(sinks=[{"topic": "out"}, {"console": True}])).queries

    assert [each.delivery for each in query.sinks] == [
        Delivery.EXACTLY_ONCE,
        Delivery.AT_LEAST_ONCE,
    ]


def test_each_sink_of_a_continuous_pipeline_has_its_own_query() -> None:
    sinks = [{"topic": "out"}, {"console": True}]
    steps = [{"sql": "SELECT page FROM input"}]

    plan = plan_of(a_pipeline(sinks=sinks, steps=steps, trigger={"continuous": "1 second"}))

    assert [query.name for query in plan.queries] == ["topic.out", "console"]


def test_rows_flow_from_view_to_view_to_sink() -> None:
    countries = {"name": "countries", "files": "countries/", "schema": "user string"}
    steps = [
        {"sql": "SELECT * FROM input JOIN countries USING (user)", "view": "known"},
        *STEPS[1:],
    ]

    plan = plan_of(a_pipeline(tables=[countries], steps=steps))

    assert plan.flows == (
        Flow("input", "known"),
        Flow("countries", "known"),
        Flow("known", "step2"),
        Flow("step2", "topic.out"),
    )


def test_source_with_dead_letters_has_a_query_of_its_own() -> None:
    other = {**SOURCE, "name": "other", "malformed": "drop"}
    sources = [{**SOURCE, "name": "first"}, other]
    steps = [{"sql": "SELECT page FROM first"}]

    plan = plan_of(
        from_dict(
            {
                "name": "p",
                "sources": sources,
                "steps": steps,
                "dead_letter": "dlq",
                "sink": {"topic": "out"},
            }
        )
    )

    assert plan.dead_letters == (DeadLetters("dead-letters.first", "first", "dlq"),)


def test_session_loads_only_what_the_pipeline_uses() -> None:
    avro = {"topic": "clicks", "format": "avro", "schema": '{"type": "string"}'}
    database = {"jdbc": "jdbc:postgresql://db/x", "table": "t"}

    assert plan_of(a_pipeline()).uses == (Use.TOPICS,)
    assert plan_of(a_pipeline(source=avro, steps=[], sinks=[{"table": "t"}, database])).uses == (
        Use.TOPICS,
        Use.AVRO,
        Use.ICEBERG,
        Use.POSTGRESQL,
    )


def test_package_and_plan_import_no_spark() -> None:
    code = (
        "import sys, klamm.pipeline\n"
        "assert 'klamm.pipeline.spec' not in sys.modules\n"
        "from klamm.pipeline import Pipeline, TopicSource, plan_of, run\n"
        "assert not [name for name in sys.modules if name.startswith('pyspark')]\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
