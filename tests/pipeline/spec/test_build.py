"""Pipelines in code: the same model as a file's, held against the same rules."""

import pytest

from klamm.pipeline.spec import (
    BadPipeline,
    ConsoleSink,
    Delivery,
    Function,
    Otherwise,
    Pipeline,
    PipelineBuilder,
    PythonStep,
    RecordFormat,
    TableSink,
    TopicSink,
    TopicSource,
    WriteMode,
    checked,
    parse,
)
from pipeline.spec.examples import CLICKS


def add_country(frame: object) -> object:
    return frame


def clicks() -> TopicSource:
    return TopicSource(topics=("clicks",), schema="user string, page string, ms int, at timestamp")


def test_the_builder_makes_what_the_file_makes() -> None:
    pytest.importorskip("yaml", reason="reading pipeline files needs the extra klamm[pipeline]")
    flow = PipelineBuilder("page-stats", dead_letter="clicks.dlq")
    flow.read(clicks()).watermark("at", "10 seconds")
    flow.sql(
        "SELECT window(at, '10 seconds') w, page, count(*) n, avg(ms) ms FROM input GROUP BY 1, page"
    )
    flow.step(PythonStep(python="mypipes.enrich:add_country"))
    flow.expect("sane_latency", "ms >= 0", otherwise=Otherwise.DEAD_LETTER)
    flow.write(TopicSink(topic="page-stats", key="page", delivery=Delivery.EXACTLY_ONCE))
    flow.write(TableSink(table="page_stats"))

    assert flow.build() == parse(CLICKS)


def test_decorators_name_the_functions_they_are_given() -> None:
    flow = PipelineBuilder("countries").read(clicks()).write(ConsoleSink(console=True))

    same = flow.python(add_country)
    flow.function("string", name="country")(add_country)
    pipeline = flow.build()

    assert same is add_country
    assert pipeline.steps == (PythonStep(python=f"{__name__}:add_country"),)
    assert pipeline.functions == (
        Function(name="country", arrow=f"{__name__}:add_country", returns="string"),
    )


def test_a_function_that_cannot_be_imported_is_a_problem() -> None:
    flow = PipelineBuilder("countries").read(clicks()).write(ConsoleSink(console=True))
    flow.python(lambda frame: frame)

    with pytest.raises(BadPipeline, match=r"steps\[0\]\.python: expected module:function"):
        flow.build()


def test_code_is_held_against_the_rules_of_files_and_told_all_at_once() -> None:
    pipeline = Pipeline(
        name="two words",
        sources=(TopicSource(topics=("clicks",), format=RecordFormat.TEXT, schema="a int"),),
        sinks=(TopicSink(topic="clicks"), TableSink(table="t", mode=WriteMode.UPSERT)),
    )

    with pytest.raises(BadPipeline) as bad:
        checked(pipeline)

    assert sorted(problem.path for problem in bad.value.problems) == [
        "name",
        "sinks[0].topic",
        "sinks[1].key",
        "source.schema",
    ]


def test_words_in_place_of_values_are_read_as_in_a_file() -> None:
    loose = Pipeline(
        name="loose",
        sources=[TopicSource(topics=["a"], format="text")],  # type: ignore[arg-type,list-item]
        sinks=[TopicSink(topic="b", delivery="at_least_once")],  # type: ignore[arg-type]
    )

    assert checked(loose) == Pipeline(
        name="loose",
        sources=(TopicSource(topics=("a",), format=RecordFormat.TEXT),),
        sinks=(TopicSink(topic="b", delivery=Delivery.AT_LEAST_ONCE),),
    )


def test_objects_that_belong_to_no_file_are_a_problem() -> None:
    with pytest.raises(BadPipeline):
        checked(Pipeline(name="x", sources=(object(),), sinks=(3,)))  # type: ignore[arg-type]
