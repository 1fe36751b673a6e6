"""What is measured, in which unit, and which way is better. Plain numbers; knows no broker and no clock."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias


class Figure(StrEnum):
    """The values are the names in the JSON output, units last."""

    REQUESTS_PER_SECOND = "requests_per_second"
    MEGABYTES_PER_SECOND = "megabytes_per_second"
    P50_US = "p50_us"
    P99_US = "p99_us"
    CPU_US_PER_REQUEST = "cpu_us_per_request"
    CPU_SECONDS_PER_GB = "cpu_seconds_per_gb"
    RSS_MB = "rss_mb"
    RSS_KB_PER_PARTITION = "rss_kb_per_partition"
    RSS_KB_PER_CONNECTION = "rss_kb_per_connection"
    IDLE_CPU_MS_PER_SECOND = "idle_cpu_ms_per_second"


Figures: TypeAlias = Mapping[Figure, float]

# Of all others, less is better.
MORE_IS_BETTER = frozenset([Figure.REQUESTS_PER_SECOND, Figure.MEGABYTES_PER_SECOND])


def best(rounds: Iterable[Figures]) -> Figures:
    """The best of each figure: whatever else the machine did in a round has only made it worse."""
    result: dict[Figure, float] = {}
    for figures in rounds:
        for figure, value in figures.items():
            choose = max if figure in MORE_IS_BETTER else min
            result[figure] = choose(result.get(figure, value), value)
    return result


def ratios(ours: Figures, theirs: Figures) -> Figures:
    """Ours in parts of theirs, for the figures that both have."""
    return {
        figure: value / theirs[figure] for figure, value in ours.items() if theirs.get(figure, 0)
    }


def percentile(values: list[int], percent: float) -> int:
    """The value that this share of all does not exceed. `values` is sorted here, in place."""
    values.sort()
    return values[min(len(values) - 1, int(len(values) * percent / 100))]
