"""What a query computes, as a digest: whether a checkpoint in which nothing was finished was made for the same. No Spark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from klamm.pipeline.plan import plan_of
from klamm.pipeline.spec import (
    LostMarker,
    Pipeline,
    Sink,
    TableSink,
    TopicSink,
    TopicSource,
    to_dict,
)
from klamm.pipeline.spec.environment import with_secrets_hidden

_READ = ("source", "sources", "watermark")
_COMPUTED = ("table", "tables", "function", "functions", "step", "steps", "expect", "dead_letter")
_REFERENCES = ("python", "arrow", "state")


@dataclass(frozen=True, slots=True)
class Definition:
    """Secrets are not in it, nor what may change at any time: the trigger, the cluster, Spark's settings, the number of writers."""

    sources: str
    whole: str
    # Whether Spark's notes on where it starts can be of no other source.
    is_one_topic: bool


def definitions_of(pipeline: Pipeline, folder: Path | None) -> dict[str, Definition]:
    """By the name of the query; those of dead letters too. `folder` is where the user's modules lie."""
    pipeline = with_secrets_hidden(pipeline)
    plan, facts = plan_of(pipeline), to_dict(pipeline)
    sources = _digest({key: facts[key] for key in _READ if key in facts})
    shared = [sources, *(facts.get(key) for key in _COMPUTED), *_code(pipeline, folder)]
    is_one = len(pipeline.sources) == 1 and isinstance(pipeline.sources[0], TopicSource)
    found = {}
    for query in plan.queries:
        sinks = [repr(_rows_alone(planned.sink)) for planned in query.sinks]
        whole = [*shared, query.view, query.output.value, *sorted(map(_digest, sinks))]
        found[query.name] = Definition(sources, _digest(whole), is_one)
    for letters in plan.dead_letters:
        found[letters.name] = Definition(sources, _digest([*shared, letters.topic]), is_one)
    return found


def _rows_alone(sink: Sink) -> Sink:
    """Without what tells how rows are written and not which: a batch that others began is finished as it was begun."""
    if isinstance(sink, TopicSink):
        return replace(sink, writers=1, lost_marker=LostMarker.FAIL)
    return replace(sink, lost_marker=LostMarker.FAIL) if isinstance(sink, TableSink) else sink


def _code(pipeline: Pipeline, folder: Path | None) -> Iterator[str]:
    """The modules that the file names: a function may be what was corrected."""
    for part in (*pipeline.steps, *pipeline.functions):
        for key in _REFERENCES:
            reference = getattr(part, key, None)
            if isinstance(reference, str) and folder is not None:
                module = folder / (reference.partition(":")[0].replace(".", "/") + ".py")
                yield _digest(module.read_text(errors="replace")) if module.is_file() else ""


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
