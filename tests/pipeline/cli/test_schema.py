"""`klamm pipeline schema`: what a file may hold, for editors."""

import json

from cli.commands import Klamm
from klamm.pipeline.spec import to_json_schema
from tidy.reference_pages import PIPELINE_SCHEMA


def test_schema_is_the_models(pipeline: Klamm) -> None:
    assert json.loads(pipeline("schema").out) == to_json_schema()


def test_schema_that_is_shipped_is_the_one_that_is_printed(pipeline: Klamm) -> None:
    assert PIPELINE_SCHEMA.read_bytes() == pipeline("schema").out, "run `make docs`"
