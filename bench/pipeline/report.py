"""What the comparison says: a table on a terminal, a JSON object per job in a pipe."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from bench.pipeline.rounds import Result
from bench.target import KLAMM, REFERENCE

# What klamm is to stay below, in parts of the reference.
MOST_SECONDS = 1.05
MOST_CPU = 0.5


def as_object(result: Result, records: int) -> dict[str, object]:
    """{"job": ..., "klamm": {...}} and, after a comparison, "reference" and "ratio" alike."""
    line: dict[str, object] = {"job": result.job.name, "about": result.job.about}
    for name, rounds in result.rounds.items():
        line[name] = {
            "seconds": round(result.best_seconds(name), 3),
            "records_per_second": round(records / result.best_seconds(name)),
            "broker_cpu_seconds": _rounded(result.best_cpu_seconds(name)),
            "rounds": [(round(t.seconds, 2), _rounded(t.broker_cpu_seconds)) for t in rounds],
        }
    if REFERENCE in result.rounds:
        line["ratio"] = {
            "seconds": _rounded(_seconds_ratio(result)),
            "broker_cpu": _rounded(_cpu_ratio(result)),
        }
    return line


def draw(results: Sequence[Result], records: int) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("job")
    table.add_column("broker")
    for heading in ("seconds", "records/s", "broker CPU", "seconds ratio", "CPU ratio"):
        table.add_column(heading, justify="right")
    for result in results:
        for name in result.rounds:
            seconds, cpu = result.best_seconds(name), result.best_cpu_seconds(name)
            is_ours = name == KLAMM
            table.add_row(
                result.job.about if is_ours else "",
                name,
                f"{seconds:.2f}",
                f"{records / seconds:,.0f}",
                "" if cpu is None else f"{cpu:.2f} s",
                _judged(_seconds_ratio(result), MOST_SECONDS) if is_ours else "",
                _judged(_cpu_ratio(result), MOST_CPU) if is_ours else "",
                style="" if is_ours else "dim",
            )
    Console().print(table)


def _seconds_ratio(result: Result) -> float | None:
    if REFERENCE not in result.rounds:
        return None
    return result.best_seconds(KLAMM) / result.best_seconds(REFERENCE)


def _cpu_ratio(result: Result) -> float | None:
    if REFERENCE not in result.rounds:
        return None
    ours, theirs = result.best_cpu_seconds(KLAMM), result.best_cpu_seconds(REFERENCE)
    return ours / theirs if ours is not None and theirs else None


def _judged(ratio: float | None, most: float) -> str:
    if ratio is None:
        return ""
    return f"[{'green' if ratio <= most else 'red'}]{ratio:.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
