"""The JSON Schema of the pipeline file, for editors: completion, and a red line under a wrong word."""

from klamm.pipeline.spec.kinds import JsonSchema
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.sections import section_schema


def to_json_schema() -> JsonSchema:
    """The schema of a whole file. It knows shapes and words; what holds between keys is `parse`'s to say."""
    defs: dict[str, JsonSchema] = {}
    root = section_schema(Pipeline, defs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "klamm pipeline",
        **root,
        "$defs": dict(sorted(defs.items())),
    }
