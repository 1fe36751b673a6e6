"""Text, plain values or code in; a checked pipeline out. Every problem is found in one pass."""

from klamm.pipeline.spec.checks import check
from klamm.pipeline.spec.environment import with_secrets_hidden
from klamm.pipeline.spec.kinds import Reading
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.nodes import Node, Plain, from_plain
from klamm.pipeline.spec.problems import BadPipeline
from klamm.pipeline.spec.sections import Section, write_section
from klamm.pipeline.spec.yaml_nodes import read_yaml

_PIPELINE = Section(
    Pipeline,
    "a mapping with the keys of a pipeline",
    stand_ins={"name": "unnamed", "sources": (), "sinks": ()},
)


def parse(text: str, source_name: str = "pipeline.yaml") -> Pipeline:
    """The pipeline that a file describes. Raises BadPipeline with every problem in it."""
    return _read(read_yaml(text, source_name), source_name)


def from_dict(plain: object, source_name: str = "pipeline") -> Pipeline:
    """The pipeline that plain values describe, with the keys of the file."""
    return _read(from_plain(plain, source_name), source_name)


def to_dict(pipeline: Pipeline, *, hide_secrets: bool = False) -> dict[str, Plain]:
    """Plain values that read back to the same pipeline; keys that have their default are left out."""
    plain = write_section(with_secrets_hidden(pipeline) if hide_secrets else pipeline)
    assert isinstance(plain, dict)
    return plain


def checked(pipeline: Pipeline) -> Pipeline:
    """The pipeline, held against the same rules as a file. For pipelines that are put together in code."""
    return from_dict(to_dict(pipeline), pipeline.name)


def _read(node: Node, source_name: str) -> Pipeline:
    reading = Reading()
    pipeline = _PIPELINE.read(node, (), reading)
    if isinstance(pipeline, Pipeline):
        check(pipeline, reading)
    if reading.problems:
        raise BadPipeline(source_name, reading.problems)
    assert isinstance(pipeline, Pipeline)
    return pipeline
