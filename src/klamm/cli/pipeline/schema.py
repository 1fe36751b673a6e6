"""`klamm pipeline schema`: what a pipeline file may hold, for editors."""

from __future__ import annotations

import json

from klamm.cli.output import flush, write
from klamm.pipeline.spec import to_json_schema


def schema() -> None:
    """Print the JSON Schema of pipeline files, for editors."""
    write(schema_text().encode())
    flush()


def schema_text() -> str:
    return json.dumps(to_json_schema(), indent=2, ensure_ascii=False) + "\n"
