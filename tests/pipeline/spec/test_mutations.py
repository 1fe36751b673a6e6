"""Whatever is done to a good file, it reads to a pipeline or to problems, and to nothing else."""

import copy
import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from klamm.pipeline.spec import (
    BadPipeline,
    Pipeline,
    checked,
    filled,
    from_dict,
    parse,
    starter,
    to_dict,
    to_json_schema,
)
from pipeline.spec.examples import GOOD
from pipeline.spec.mistakes import problems_of
from pipeline.spec.tiny_schema import is_valid

TEXTS = [*GOOD.values(), starter("page-stats")]
PLAIN = [to_dict(parse(text)) for text in TEXTS]
WORDS = sorted({word for text in TEXTS for word in text.replace(":", " : ").split()})
SCHEMA = to_json_schema()

scraps = st.one_of(
    st.sampled_from(
        [
            *WORDS,
            "\n",
            "  ",
            "\t",
            "- ",
            ": ",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "!!x ",
            "'",
            '"',
            "|\n",
        ]
    ),
    st.text(max_size=5),
)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(WORDS),
        st.text(max_size=8),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(st.sampled_from(TEXTS), st.data())
def test_a_changed_text_reads_to_a_pipeline_or_to_problems(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(scraps) + text[end:]

    result = pipeline_or_problems(lambda: parse(text))

    if isinstance(result, Pipeline):
        check_good(result)


@settings(max_examples=400)
@given(st.sampled_from(PLAIN), st.data())
def test_changed_values_read_to_a_pipeline_or_to_problems(
    plain: dict[str, object], data: st.DataObject
) -> None:
    changed = copy.deepcopy(plain)
    for _ in range(data.draw(st.integers(1, 2))):
        change_somewhere(changed, data)

    result = pipeline_or_problems(lambda: from_dict(changed))

    if isinstance(result, Pipeline):
        check_good(result)
        assert is_valid(json.loads(json.dumps(changed)), SCHEMA)


@given(st.binary(max_size=40))
def test_noise_is_told_as_problems(noise: bytes) -> None:
    assert problems_of(noise.decode("latin-1"))


def pipeline_or_problems(read: Callable[[], Pipeline]) -> Pipeline | list[str]:
    try:
        return read()
    except BadPipeline as bad:
        told = bad.lines()
    assert told
    assert not any("\n" in line for line in told)
    return told


def check_good(pipeline: Pipeline) -> None:
    assert checked(pipeline) == pipeline
    to_dict(pipeline, hide_secrets=True)
    for sink in pipeline.sinks:
        assert pipeline.delivery_of(sink) in sink.deliveries
        pipeline.input_of_sink(sink)
    pipeline_or_problems(lambda: filled(pipeline, {}))


def change_somewhere(node: object, data: st.DataObject) -> None:
    """Walk to some list or mapping and change, drop or add something there."""
    while True:
        assert isinstance(node, dict | list)
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not places:
            return
        place = data.draw(st.sampled_from(places))
        inner = node[place]
        if isinstance(inner, dict | list) and data.draw(st.booleans()):
            node = inner
            continue
        what = data.draw(st.sampled_from(["change", "drop", "add"]))
        if what == "drop":
            del node[place]
        elif what == "add" and isinstance(node, dict):
            node[data.draw(st.sampled_from(WORDS))] = data.draw(values)
        else:
            node[place] = data.draw(values)
        return
