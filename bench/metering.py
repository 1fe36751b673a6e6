"""From a run to its figures: latencies from the client, CPU and memory from the kernel."""

from collections.abc import Callable

from bench.figures import Figure, Figures, percentile
from bench.load import Run
from bench.processes import cpu_seconds, rss_bytes
from bench.target import Target

_GB = 1e9
_MB = 1e6


def metered(target: Target, work: Callable[[], Run]) -> Figures:
    """What the work took, and what the broker spent on it."""
    if target.pid is None:
        return figures_of(work())
    before = cpu_seconds(target.pid)
    run = work()
    spent = cpu_seconds(target.pid) - before
    return figures_of(run, cpu=spent) | {Figure.RSS_MB: rss_bytes(target.pid) / _MB}


def figures_of(run: Run, *, cpu: float | None = None) -> dict[Figure, float]:
    figures = {
        Figure.REQUESTS_PER_SECOND: run.requests / run.seconds,
        Figure.P50_US: percentile(run.latencies_ns, 50) / 1e3,
        Figure.P99_US: percentile(run.latencies_ns, 99) / 1e3,
    }
    if cpu is not None:
        figures[Figure.CPU_US_PER_REQUEST] = cpu / run.requests * 1e6
    if run.payload_bytes:
        figures[Figure.MEGABYTES_PER_SECOND] = run.payload_bytes / _MB / run.seconds
        if cpu is not None:
            figures[Figure.CPU_SECONDS_PER_GB] = cpu / (run.payload_bytes / _GB)
    return figures
