"""What must hold between the keys of a pipeline. What only Spark can know is left to Spark."""

from klamm.pipeline.spec.checks.reads import check_reads
from klamm.pipeline.spec.checks.report import Report
from klamm.pipeline.spec.checks.steps import check_steps
from klamm.pipeline.spec.checks.views import check_views
from klamm.pipeline.spec.checks.writes import check_writes
from klamm.pipeline.spec.kinds import Reading
from klamm.pipeline.spec.model.pipeline import Pipeline

__all__ = ["check"]


def check(pipeline: Pipeline, reading: Reading) -> None:
    """Hold the keys of a pipeline against each other."""
    report = Report(pipeline, reading)
    check_reads(report)
    check_views(report)
    check_steps(report)
    check_writes(report)
