"""Steps and expectations: state that would grow for ever, and letters without a letter box."""

from klamm.pipeline.spec.checks.reads import check_watermark, known_columns
from klamm.pipeline.spec.checks.report import Report
from klamm.pipeline.spec.ddl import columns_of
from klamm.pipeline.spec.model.sources import Otherwise
from klamm.pipeline.spec.model.steps import (
    ArrowStep,
    DedupeStep,
    Expectation,
    StateStep,
    Step,
    Timers,
)
from klamm.pipeline.spec.nodes import quoted
from klamm.pipeline.spec.problems import nearest


def check_steps(report: Report) -> None:
    for index, step in enumerate(report.pipeline.steps):
        if isinstance(step, ArrowStep) and step.watermark:
            check_watermark(step.watermark, columns_of(step.schema), report)
        if isinstance(step, DedupeStep):
            if not step.forever and not _has_watermark(report):
                expected = "a watermark somewhere before it, or forever: true"
                report.say(
                    step, "dedupe", expected=expected, found="neither", involves=("forever",)
                )
            _check_columns(step, "dedupe", index, report)
        if isinstance(step, StateStep):
            if step.timers is Timers.EVENT and not _has_watermark(report):
                expected = "a watermark somewhere before it, which timers of events follow"
                report.say(step, "timers", expected=expected, found="none")
            _check_columns(step, "by", index, report)
    names: set[str] = set()
    for expectation in report.pipeline.expect:
        if expectation.name in names:
            expected = "a name that no other expectation has"
            report.say(expectation, "name", expected=expected, found=quoted(expectation.name))
        names.add(expectation.name)
        _check_expectation(expectation, report)


def _has_watermark(report: Report) -> bool:
    """Whether some watermark is there, or was meant to be."""
    pipeline = report.pipeline
    if pipeline.watermark or report.are_bad("sources", "watermark", "steps"):
        return True
    return any(getattr(each, "watermark", None) for each in (*pipeline.sources, *pipeline.steps))


def _check_columns(step: DedupeStep | StateStep, key: str, index: int, report: Report) -> None:
    """The columns of a key, where the step reads a source whose columns are known."""
    columns: tuple[str, ...] = getattr(step, key)
    if not columns:
        report.say(step, key, expected="at least one column", found="an empty list")
    if report.are_bad("sources", "steps"):
        return
    view = report.pipeline.input_of(index)
    source = next((each for each in report.pipeline.sources if each.name == view), None)
    known = known_columns(source, report) if source else None
    if known is None:
        return
    names = {each.name.lower() for each in known}
    for column in columns:
        if column.lower() not in names:
            expected = f"columns of {view} ({', '.join(each.name for each in known)})"
            near = nearest(column, [each.name for each in known])
            report.say(step, key, expected=expected, found=quoted(column), near=near)
            return


def _check_expectation(expectation: Expectation, report: Report) -> None:
    pipeline = report.pipeline
    is_letter = expectation.otherwise is Otherwise.DEAD_LETTER
    if is_letter and pipeline.dead_letter is None and not report.are_bad("dead_letter"):
        expected = "a topic under dead_letter at the top of the file to go with it"
        report.say(expectation, "otherwise", expected=expected, found="dead_letter without one")
    if report.are_bad("sources", "steps"):
        return
    sources = [each.name for each in pipeline.sources]
    steps = [_view(step, i) for i, step in enumerate(pipeline.steps)]
    if expectation.on is None:
        if len(sources) > 1:
            expected = f"the source or step to check ({', '.join([*sources, *steps])})"
            report.say(expectation, "on", expected=expected, found="none, with several sources")
    elif expectation.on not in (*sources, *steps):
        expected = f"a source or step ({', '.join([*sources, *steps])})"
        near = nearest(expectation.on, [*sources, *steps])
        report.say(expectation, "on", expected=expected, found=quoted(expectation.on), near=near)
    elif is_letter and expectation.on in steps:
        expected = "drop or fail: after a step the raw bytes and the position are no longer known"
        report.say(expectation, "otherwise", expected=expected, found="dead_letter")


def _view(step: Step, index: int) -> str:
    return step.view or f"step{index + 1}"
