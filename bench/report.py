"""What the benchmark says: a table on a terminal, a JSON object per workload in a pipe or a file."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from bench.figures import Figure, Figures, ratios
from bench.rounds import Result
from bench.target import KLAMM, REFERENCE

_HEADINGS = {
    Figure.REQUESTS_PER_SECOND: "requests/s",
    Figure.MEGABYTES_PER_SECOND: "MB/s",
    Figure.P50_US: "p50",
    Figure.P99_US: "p99",
    Figure.CPU_US_PER_REQUEST: "CPU/request",
    Figure.CPU_SECONDS_PER_GB: "CPU s/GB",
    Figure.RSS_MB: "RSS MB",
    Figure.RSS_KB_PER_PARTITION: "KB/partition",
    Figure.RSS_KB_PER_CONNECTION: "KB/connection",
    Figure.IDLE_CPU_MS_PER_SECOND: "idle CPU ms/s",
}
_DURATIONS = frozenset([Figure.P50_US, Figure.P99_US, Figure.CPU_US_PER_REQUEST])
# The figures that a comparison is about, and what their ratio is called.
_RATIOS = {
    Figure.CPU_US_PER_REQUEST: "CPU ratio",
    Figure.P50_US: "p50 ratio",
    Figure.P99_US: "p99 ratio",
}


def as_object(result: Result) -> dict[str, object]:
    """{"workload": ..., "about": ..., "klamm": {...}} and, after a comparison, "reference" and "ratio" alike."""
    known = {name: _rounded(figures) for name, figures in result.figures.items()}
    compared = _compared(result)
    ratio = {"ratio": _rounded(compared)} if compared else {}
    return {"workload": result.workload.name, "about": result.workload.about, **known, **ratio}


def json_line(result: Result) -> str:
    return json.dumps(as_object(result))


def draw(results: Sequence[Result]) -> None:
    """A row per workload and broker; the ratios stand with klamm and are its share of the reference."""
    columns = [f for f in Figure if any(f in figures for figures in _all_figures(results))]
    shown_ratios = _RATIOS if any(_compared(result) for result in results) else {}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("workload")
    if shown_ratios:
        table.add_column("broker")
    for heading in [*(_HEADINGS[f] for f in columns), *shown_ratios.values()]:
        table.add_column(heading, justify="right")
    for result in results:
        for name, figures in result.figures.items():
            is_ours = name == KLAMM
            labels = [result.workload.name if is_ours else "", *([name] if shown_ratios else [])]
            compared = _compared(result) if is_ours else {}
            table.add_row(
                *labels,
                *(_cell(figure, figures) for figure in columns),
                *(f"{compared[f]:.2f}" if f in compared else "" for f in shown_ratios),
                style="" if is_ours else "dim",
            )
    Console().print(table)


class Progress:
    """One line on the terminal that overwrites itself; silent in a pipe."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._is_shown:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def _compared(result: Result) -> Figures:
    if REFERENCE not in result.figures:
        return {}
    return ratios(result.figures[KLAMM], result.figures[REFERENCE])


def _all_figures(results: Iterable[Result]) -> Iterable[Figures]:
    for result in results:
        yield from result.figures.values()


def _rounded(figures: Mapping[Figure, float]) -> dict[str, float]:
    return {figure.value: round(value, 3) for figure, value in figures.items()}


def _cell(figure: Figure, figures: Figures) -> str:
    if figure not in figures:
        return ""
    value = figures[figure]
    if figure in _DURATIONS:
        return _duration(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _duration(us: float) -> str:
    if us >= 1_000_000:
        return f"{us / 1e6:.2f} s"
    if us >= 10_000:
        return f"{us / 1e3:.0f} ms"
    return f"{us / 1e3:.1f} ms" if us >= 1000 else f"{us:.0f} µs"
