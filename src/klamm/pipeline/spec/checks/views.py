"""Names: every source, table and step is a view of its own name, and who reads a view names one that is there."""

from klamm.pipeline.spec.checks.report import Report
from klamm.pipeline.spec.checks.sql import reads_of
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.model.steps import PREVIOUS, PythonStep, SqlStep
from klamm.pipeline.spec.nodes import quoted
from klamm.pipeline.spec.problems import nearest


def check_views(report: Report) -> None:
    _check_names(report)
    if report.are_bad("sources", "tables", "steps"):
        return  # a name may be missing only because its section could not be read
    pipeline = report.pipeline
    for index, step in enumerate(pipeline.steps):
        if isinstance(step, SqlStep):
            _check_sql(step, index, report)
        else:
            _check_from(step, views_before(pipeline, index), report, is_first=index == 0)
    for sink in pipeline.sinks:
        views = views_before(pipeline, len(pipeline.steps))
        _check_from(sink, views, report, is_first=not pipeline.steps)


def views_before(pipeline: Pipeline, index: int) -> list[str]:
    """The views that the step at this place may read."""
    fixed = [each.name for each in (*pipeline.sources, *pipeline.tables)]
    return [*fixed, *(pipeline.view_of(i) for i in range(min(index, len(pipeline.steps))))]


def _check_names(report: Report) -> None:
    pipeline = report.pipeline
    named: list[tuple[object, str, str]] = [
        (each, "name", each.name) for each in (*pipeline.sources, *pipeline.tables)
    ]
    named += [(step, "view", pipeline.view_of(i)) for i, step in enumerate(pipeline.steps)]
    seen: set[str] = set()
    for section, key, name in named:
        if name.lower() == PREVIOUS:
            expected = f"another name: {PREVIOUS} is the step before"
            report.say(section, key, expected=expected, found=quoted(name))
        elif name.lower() in seen:
            expected = "a name that no other source, table or step has"
            report.say(section, key, expected=expected, found=quoted(name))
        seen.add(name.lower())
    functions: set[str] = set()
    for function in pipeline.functions:
        if function.name.lower() in functions:
            expected = "a name that no other function has"
            report.say(function, "name", expected=expected, found=quoted(function.name))
        functions.add(function.name.lower())


def _check_sql(step: SqlStep, index: int, report: Report) -> None:
    pipeline = report.pipeline
    views = views_before(pipeline, index)
    # A function is given the session with its DataFrame, and may make views of its own.
    may_be_others = any(isinstance(each, PythonStep) for each in pipeline.steps[:index])
    for name in reads_of(step.sql).unknown([PREVIOUS, *views]):
        near = nearest(name, [*views, PREVIOUS])
        if near is None and may_be_others:
            continue
        expected = f"views that are there by then ({', '.join(views)}), or a table with its catalog"
        report.say(step, "sql", expected=expected, found=f"FROM {name}", near=near)


def _check_from(section: object, views: list[str], report: Report, *, is_first: bool) -> None:
    view = getattr(section, "from_view", None)
    if view is None:
        if is_first and len(report.pipeline.sources) > 1:
            expected = f"the view to read ({', '.join(views)}), because there are several sources"
            report.say(section, "from", expected=expected, found="none")
    elif view.lower() not in (PREVIOUS, *(each.lower() for each in views)):
        expected = f"a view that is there by then ({', '.join(views)})"
        near = nearest(view, views)
        report.say(section, "from", expected=expected, found=quoted(view), near=near)
