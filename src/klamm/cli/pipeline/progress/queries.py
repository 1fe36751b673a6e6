"""Some queries of a pipeline, chosen by their sinks or their views. No Spark, no cluster.

A query writes all the sinks of a view, so a sink that shares it with others cannot be rebuilt alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from klamm.cli.output import UsageError
from klamm.pipeline.plan import labels_in, plan_of
from klamm.pipeline.spec import Pipeline
from klamm.pipeline.spec.problems import nearest

Sinks = Annotated[
    list[str] | None,
    typer.Option("--sink", metavar="NAME", help="Only the query that writes this sink."),
]
Views = Annotated[
    list[str] | None,
    typer.Option("--view", metavar="NAME", help="Only the queries that write this view."),
]


@dataclass(frozen=True, slots=True)
class Choice:
    """A query that may be chosen. One of dead letters has itself for a sink, one of the past has no view."""

    query: str
    labels: frozenset[str]
    view: str | None = None
    sources: tuple[str, ...] = ()


def choices_of(pipeline: Pipeline | None, there: Iterable[str]) -> list[Choice]:
    """The queries of the file, and those that a checkpoint holds beside them."""
    found: dict[str, Choice] = {}
    if pipeline is not None:
        plan = plan_of(pipeline)
        for query in plan.queries:
            labels = frozenset(each.label for each in query.sinks)
            found[query.name] = Choice(query.name, labels, query.view, query.sources)
        for letters in plan.dead_letters:
            name = letters.name
            found[name] = Choice(name, frozenset({name}), sources=(letters.source,))
    for name in there:
        found.setdefault(name, Choice(name, labels_in(name)))
    return list(found.values())


def choose(choices: Sequence[Choice], sinks: Collection[str], views: Collection[str]) -> list[str]:
    """The names of the queries, each once. Raises UsageError if that would write to a sink that nobody named."""
    _check_known("sink", sinks, sorted({label for each in choices for label in each.labels}))
    _check_known("view", views, sorted({each.view for each in choices if each.view is not None}))
    by_view = {view.lower() for view in views}
    chosen = []
    for each in choices:
        if each.view is not None and each.view.lower() in by_view:
            chosen.append(each.query)
        elif named := each.labels & set(sinks):
            if others := sorted(each.labels - named):
                raise UsageError(
                    f"{', '.join(sorted(named))} and {', '.join(others)} are written by one query, and would be written "
                    "again together",
                    hint=f"{' '.join(f'--sink {label}' for label in others)} as well, or give each a step of its own "
                    "to read",
                )
            chosen.append(each.query)
    return chosen


def some_of(choices: Sequence[Choice], sinks: Sinks, views: Views) -> list[Choice] | None:
    """Those that were asked for; None for all."""
    if not sinks and not views:
        return None
    names = choose(choices, sinks or (), views or ())
    return None if len(names) == len(choices) else [c for c in choices if c.query in names]


def _check_known(what: str, wanted: Collection[str], known: Sequence[str]) -> None:
    lower = {name.lower() for name in known} if what == "view" else set(known)
    for name in wanted:
        if (name.lower() if what == "view" else name) not in lower:
            near = nearest(name, known)
            raise UsageError(
                f"there is no {what} {name}" + (f"; did you mean {near}?" if near else ""),
                hint=f"there {'is' if len(known) == 1 else 'are'} {', '.join(known) or 'none'}",
            )
