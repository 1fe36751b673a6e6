"""The data pipeline on Spark: a file says what is read, computed and written; Spark does it.

    from klamm.pipeline import parse, run

    run(parse(Path("page-stats.yaml").read_text(), "page-stats.yaml"), bootstrap="localhost:9092", once=True)

Importing this package imports nothing else: what is asked of it is brought when it is asked for, so that a broker
does not pay for it and a pipeline file can be checked without Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from klamm.pipeline.failures.trouble import PipelineFailed
    from klamm.pipeline.place import Place
    from klamm.pipeline.plan import plan_of
    from klamm.pipeline.running.run import run
    from klamm.pipeline.spec import BadPipeline, Pipeline, PipelineBuilder, parse

__all__ = [
    "Pipeline",
    "PipelineBuilder",
    "parse",
    "plan_of",
    "run",
    "Place",
    "PipelineFailed",
    "BadPipeline",
]

_HOMES = {
    "run": "klamm.pipeline.running.run",
    "plan_of": "klamm.pipeline.plan",
    "Place": "klamm.pipeline.place",
    "PipelineFailed": "klamm.pipeline.failures.trouble",
}


_OF_THE_MODEL = ("parse", "from_dict", "to_dict", "checked", "filled", "watermark", "parse_time")


def __getattr__(name: str) -> object:
    """Classes that are not named above come from the model: `from klamm.pipeline import TopicSource` works as well."""
    home = _HOMES.get(name)
    if home is None and (name in _OF_THE_MODEL or name[:1].isupper()):
        home = "klamm.pipeline.spec"
    found = getattr(importlib.import_module(home), name, None) if home else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
