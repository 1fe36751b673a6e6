"""A broker from nothing: start. From the start of the process, on an empty directory, to its ready line."""

from bench.figures import Figure, Figures
from bench.processes import KlammProcess, rss_bytes
from bench.target import Target
from bench.workload import Workload


class StartLoad:
    def __init__(self, target: Target) -> None:
        """The target is one that runs already; a start needs its own."""

    def measure(self, seconds: float) -> Figures:
        with KlammProcess() as klamm:
            return {
                Figure.P50_US: klamm.start_ns / 1e3,
                Figure.CPU_US_PER_REQUEST: klamm.start_cpu_seconds * 1e6,
                Figure.RSS_MB: rss_bytes(klamm.pid) / 1e6,
            }

    def close(self) -> None:
        """The process ended with its round."""


START = Workload(
    "start",
    "klamm from nothing to its ready line",
    StartLoad,
    warms_up=False,
    is_own_broker=True,
)
