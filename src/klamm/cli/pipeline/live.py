"""What a running pipeline shows: a table that stays in place on a terminal, a line per batch in a pipe, or JSON."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from klamm.cli.output import Format, json_line, notice
from klamm.cli.pipeline.units import UNKNOWN, amount, clock, rate, took
from klamm.pipeline.running.progress import QueryReport, Report

if TYPE_CHECKING:
    from rich.console import RenderableType

# More partitions than this, and those that are most behind are shown.
_PARTITIONS_SHOWN = 8


class View(Protocol):
    """Used as a context: what it drew stays, and the terminal is as before."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def say(self, text: str) -> None:
        """What goes on while there is no news: Spark starts, the pipeline stops."""

    def tell(self, text: str) -> None:
        """What people should know of, such as a broker that is away."""

    def show(self, report: Report) -> None: ...


def view_for(output: Format | None, *, quiet: bool) -> View:
    if quiet:
        return Quiet()
    if output is Format.JSON:
        return JsonLines()
    return Screen() if sys.stdout.isatty() else Lines()


class _Plain:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def say(self, text: str) -> None:
        notice(text)

    def tell(self, text: str) -> None:
        notice(text)


class Quiet(_Plain):
    """Tells only of trouble."""

    def say(self, text: str) -> None:
        return None

    def show(self, report: Report) -> None:
        return None


class JsonLines(_Plain):
    """Has stdout for itself: what sinks print goes to stderr meanwhile."""

    def __init__(self) -> None:
        self._out = sys.stdout

    def __enter__(self) -> Self:
        sys.stdout = sys.stderr
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.stdout = self._out

    def show(self, report: Report) -> None:
        self._out.write(json_line(report.to_dict()).decode())
        self._out.flush()


class Lines(_Plain):
    """One line per batch."""

    def __init__(self) -> None:
        self._batches: dict[str, int] = {}

    def show(self, report: Report) -> None:
        for query in report.queries:
            if query.batches > self._batches.get(query.name, 0):
                self._batches[query.name] = query.batches
                print(line_of(query), flush=True)


def line_of(query: QueryReport) -> str:
    parts = [
        f"{amount(query.batch_records)} in ({rate(query.input_per_second)})",
        f"out {rate(query.output_per_second)}",
        f"took {took(query.batch_ms)}",
        f"lag {amount(query.lag)}",
    ]
    if query.watermark_ms is not None:
        parts.append(f"watermark {clock(query.watermark_ms)}")
    if query.state_rows:
        parts.append(f"state {amount(query.state_rows)}")
    if query.late_rows:
        parts.append(f"late rows {amount(query.late_rows)}")
    if query.dropped_records:
        parts.append(f"dropped {amount(query.dropped_records)}")
    if query.dead_letters:
        parts.append(f"dead letters {amount(query.dead_letters)}")
    if query.unknown_records:
        parts.append(f"unknown fields {_unknown(query)}")
    return f"{clock(query.at_ms)} {query.name} batch {query.batch_id}: {', '.join(parts)}"


class Screen:
    """Redrawn in place. What sinks print while it is up goes above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._words = ""
        self._report: Report | None = None
        # Reports come from the thread that runs the pipeline, words also from the one that hears signals.
        self._lock = threading.Lock()
        self._live = Live(
            console=Console(),
            get_renderable=self._render,
            refresh_per_second=4,
            vertical_overflow="crop",
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        with self._lock:
            self._words = text

    def tell(self, text: str) -> None:
        from rich.text import Text

        # Above what is redrawn, where it stays.
        self._live.console.print(Text(text))

    def show(self, report: Report) -> None:
        with self._lock:
            self._report = report
            self._words = ""

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        with self._lock:
            report, words = self._report, self._words
        parts: list[RenderableType] = []
        if report is not None:
            parts += [_heading(report), _queries(report)]
            if any(query.partitions for query in report.queries):
                parts.append(_partitions(report))
        if words:
            parts.append(Text(words, style="dim"))
        return Group(*parts)


def _heading(report: Report) -> RenderableType:
    from rich.text import Text

    words = f"lag {amount(report.lag)}, dead letters {amount(report.dead_letters)}"
    return Text.assemble((report.pipeline, "bold"), f"  {words}  ", ("Ctrl-C stops", "dim"))


def _queries(report: Report) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("query", overflow="fold")
    # A terminal is narrow: what is nothing for every query is left out.
    shown = [name for name in _COLUMNS if name in _ALWAYS or _has_any(report, name)]
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for query in report.queries:
        cells = _cells(query)
        # As text: the names of fields are the producers'.
        table.add_row(Text(query.name), *(Text(cells[name]) for name in shown))
    return table


_ALWAYS = ("in", "out", "batch", "took", "lag")
_COLUMNS = (
    *_ALWAYS,
    *("watermark", "state", "late rows", "dropped", "dead letters", "unknown fields"),
)


def _has_any(report: Report, column: str) -> bool:
    return any(_cells(query)[column] not in (UNKNOWN, "0") for query in report.queries)


def _cells(query: QueryReport) -> dict[str, str]:
    values = (
        rate(query.input_per_second),
        rate(query.output_per_second),
        UNKNOWN if query.batch_id is None else str(query.batch_id),
        took(query.batch_ms),
        amount(query.lag),
        clock(query.watermark_ms),
        amount(query.state_rows),
        amount(query.late_rows),
        amount(query.dropped_records),
        amount(query.dead_letters),
        _unknown(query) or "0",
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _unknown(query: QueryReport) -> str:
    """So many records, and some of the names."""
    if not query.unknown_records:
        return ""
    return f"{amount(query.unknown_records)} ({', '.join(query.unknown_names)})"


def _partitions(report: Report) -> RenderableType:
    """Of each partition the query that is furthest behind."""
    from rich.text import Text

    worst: dict[tuple[str, int], int] = {}
    for query in report.queries:
        for each in query.partitions:
            place = (each.topic, each.partition)
            worst[place] = max(worst.get(place, 0), each.lag or 0)
    shown = sorted(worst, key=lambda place: -worst[place])[:_PARTITIONS_SHOWN]
    texts = [f"{topic}-{number} {amount(worst[topic, number])}" for topic, number in sorted(shown)]
    rest = len(worst) - len(shown)
    more = f" and {rest} with less" if rest else ""
    return Text(f"lag by partition: {', '.join(texts)}{more}", style="dim")
