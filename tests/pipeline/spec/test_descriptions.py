"""The starter, the JSON Schema and the reference all say what the model says."""

import json
import re

import pytest

from klamm.pipeline.spec import (
    BadPipeline,
    Pipeline,
    parse,
    reference_markdown,
    starter,
    to_dict,
    to_json_schema,
)
from klamm.pipeline.spec.sections import keys_of
from pipeline.spec.examples import CLICKS, GOOD
from pipeline.spec.tiny_schema import is_valid

pytest.importorskip("yaml", reason="reading pipeline files needs the extra klamm[pipeline]")


@pytest.mark.parametrize("name", ["page-stats", "clicks", "007", "a.b", "x" * 100])
def test_the_starter_is_a_valid_pipeline_of_its_name(name: str) -> None:
    assert parse(starter(name)).name == name


def test_what_the_starter_has_commented_out_is_valid_as_well() -> None:
    text = re.sub(
        r"^( +)# (?=[a-z_]+: |- |  [a-z_]+: )", r"\1", starter("shop"), flags=re.MULTILINE
    )

    assert "\n  - table: shop" in text
    assert len(parse(text).sinks) == 4


@pytest.mark.parametrize("name", ["", "two words", "a/b", "x: y", "x" * 101])
def test_a_starter_needs_a_name_that_a_pipeline_can_have(name: str) -> None:
    with pytest.raises(BadPipeline):
        starter(name)


@pytest.mark.parametrize("name", GOOD)
def test_the_json_schema_takes_what_is_right(name: str) -> None:
    assert is_valid(to_dict(parse(GOOD[name])), to_json_schema())


@pytest.mark.parametrize(
    "change",
    [
        {"nmae": "x"},
        {"sinks": [{"topic": "x", "delivery": "exactly_onse"}]},
        {"source": {"topic": "x", "formt": "json"}},
        {"steps": [{"join": "x"}]},
        {"trigger": "sometimes"},
        {"watermark": {"column": "at"}},
        {"dead_letter": "two words"},
    ],
)
def test_the_json_schema_refuses_what_is_wrong(change: dict[str, object]) -> None:
    assert not is_valid({**to_dict(parse(CLICKS)), **change}, to_json_schema())


def test_the_json_schema_asks_for_what_is_required() -> None:
    for key in ("name", "source", "sinks"):
        plain = to_dict(parse(CLICKS))
        del plain[key]
        assert not is_valid(plain, to_json_schema())


def test_the_json_schema_is_json_and_explains_every_key() -> None:
    schema = json.loads(json.dumps(to_json_schema()))

    for section in (schema, *schema["$defs"].values()):
        assert section["description"]
        assert all(each["description"].endswith(".") for each in section["properties"].values())


def test_the_reference_lists_every_key_of_every_section() -> None:
    reference = reference_markdown()
    sections = {Pipeline.__name__, *to_json_schema()["$defs"]}  # type: ignore[misc]

    assert reference.count("\n| key | value | default | meaning |\n") == len(sections)
    for key in keys_of(Pipeline):
        assert f"`{key.name}`" in reference


def test_links_of_the_reference_lead_to_its_headings() -> None:
    reference = reference_markdown()
    headings = {
        title.lower().replace(" ", "-")
        for title in re.findall("^### (.*)$", reference, re.MULTILINE)
    }

    assert set(re.findall(r"\(#([^)]*)\)", reference)) <= headings
