"""A whole case from a seed."""

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from fuzz.pipelines import formats
from fuzz.pipelines.drawing import expressions, steps
from fuzz.pipelines.drawing.expressions import Columns, Expression
from fuzz.pipelines.drawing.records import Mood, Sender, Source, draw_source
from fuzz.pipelines.drawing.sinks import ParquetPlan, TablePlan, TopicPlan, draw_sink
from fuzz.pipelines.drawing.stateful import Dedupe, Numbering, Pairs, Running, Windows
from fuzz.pipelines.drawing.steps import Step
from fuzz.pipelines.faults import Fault, draw_faults

Plan: TypeAlias = TopicPlan | TablePlan | ParquetPlan
_WHO = [f"{letter}{number}" for letter in "uab" for number in range(8)]


@dataclass(frozen=True, slots=True)
class Check:
    """An expectation on the source (-1) or on a step."""

    name: str
    condition: Expression
    otherwise: str
    view: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    seed: int
    name: str
    home: Path
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    sinks: tuple[Plan, ...]
    dead_letter: str | None
    cities: dict[str, str]
    max_per_batch: int | None
    options: dict[str, str]
    # Sorts spill after so many rows.
    spill_after: int | None
    # By run: what is done to it before it may end in peace.
    faults: tuple[tuple[Fault, ...], ...]

    @property
    def runs(self) -> int:
        return len(self.faults)

    @property
    def delay_seconds(self) -> int | None:
        return self.sources[0].delay_seconds

    def __str__(self) -> str:
        """One line for people."""
        names = [type(step).__name__.lower() for step in self.steps]
        sources = [f"{source.format}/{source.partitions}" for source in self.sources]
        sinks = [sink.label for sink in self.sinks]
        faults = ["+".join(map(str, each)) or "-" for each in self.faults]
        spills = f"; spills after {self.spill_after}" if self.spill_after else ""
        flow = " > ".join([" & ".join(sources), *names, " & ".join(sinks)])
        return f"{flow}; runs {' '.join(faults)}{spills}:"

    def view(self, number: int) -> str:
        return "input" if number < 0 else f"view{number}"

    def facts(self, run: int) -> dict[str, Any]:
        """The pipeline's file."""
        return {
            "name": self.name,
            "sources": [self._source_facts(source) for source in self.sources],
            "tables": [
                {
                    "name": "cities",
                    "files": str(self.home / "cities.json"),
                    "schema": "who string, city string",
                }
            ],
            "functions": [{"name": "loud", "arrow": "fuzz_steps:loud", "returns": "string"}],
            "steps": [self._step_facts(number) for number in range(len(self.steps))],
            "expect": [
                {
                    "name": each.name,
                    "check": each.condition.sql,
                    "otherwise": each.otherwise,
                    "on": self.view(each.view),
                }
                for each in self.checks
            ],
            **({"dead_letter": self.dead_letter} if self.dead_letter else {}),
            "sinks": [{**sink.facts(run), "from": self.view(sink.view)} for sink in self.sinks],
            "trigger": {"every": "100 milliseconds"},
            "options": self.options,
        }

    def write(self) -> None:
        """What the pipeline finds beside its file."""
        self.home.mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"who": who, "city": city}) for who, city in self.cities.items()]
        (self.home / "cities.json").write_text("\n".join(rows) + "\n")

    def _step_facts(self, number: int) -> dict[str, Any]:
        step, source = self.steps[number], self.sources[0]
        facts = {**step.facts, "view": self.view(number)}
        if number == 0 and "sql" not in facts:
            facts["from"] = "input"
        if number == 0 and source.format == "text" and source.delay_seconds is not None:
            # Only now there is a time.
            facts["watermark"] = _watermark(source)
        return facts

    def _source_facts(self, source: Source) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "name": source.name,
            "topic": source.topic,
            "format": source.format,
        }
        if source.format == "avro":
            facts["schema"] = formats.avro_schema(source.columns)
        elif source.format != "text":
            facts["schema"] = ", ".join(f"{name} {kind}" for name, kind in source.columns.items())
        if source.has_headers:
            facts["headers"] = True
        if source.malformed:
            facts["malformed"] = source.malformed
        if source.delay_seconds is not None and source.format != "text":
            facts["watermark"] = _watermark(source)
        if self.max_per_batch is not None:
            facts["max_per_batch"] = self.max_per_batch
        return facts


def _watermark(source: Source) -> dict[str, str]:
    return {"column": "at", "delay": f"{source.delay_seconds} seconds"}


@dataclass(slots=True)
class _Path:
    """Steps as they are drawn, and what is behind each."""

    steps: list[Step]
    columns: list[Columns]
    # By view: the ways in which its rows may be written, and the columns that tell counts apart.
    outputs: list[tuple[str, ...]]
    keys: list[tuple[str, ...]]

    def add(self, step: Step, outputs: tuple[str, ...], keys: tuple[str, ...] = ()) -> None:
        self.steps.append(step)
        self.columns.append(step.columns)
        self.outputs.append(outputs)
        self.keys.append(keys)


def draw(
    seed: int, name: str, home: Path, *, attempt: int, most: int, most_runs: int, with_kills: bool
) -> Case:
    chance = Random(f"{seed}.{attempt}")
    operator = chance.choices(
        ("none", "dedupe", "windows", "both", "running", "pairs", "numbering"),
        (9, 3, 4, 1, 2, 2, 1),
    )[0]
    is_timed = operator in ("windows", "both") or (
        operator in ("dedupe", "pairs", "none") and chance.random() < 0.5
    )
    mood = _mood(chance, operator, is_timed=is_timed, most=most)
    sources, dead_letter = _sources(chance, name, mood, operator, is_timed=is_timed)
    runs = chance.choice((1, 2, 2, 3, 4)[: most_runs + 1])
    sender = Sender(chance, mood)
    for run in range(runs):
        sender.add_run(*sources, is_first=run == 0)
    cities = {who: f"city {who}" for who in _WHO if chance.random() < 0.5}
    path = _path(chance, sources, operator, cities)
    # A text is one column until it is parsed.
    first = 0 if sources[0].format == "text" else -1
    sinks = _sinks(chance, path, name, home, first=first, runs=runs)
    checks = _checks(chance, sources[0], has_letters=dead_letter is not None)
    checks += _checks_on_steps(chance, path)
    return Case(
        seed=seed,
        name=name,
        home=home,
        sources=tuple(sources),
        steps=tuple(path.steps),
        checks=tuple(checks),
        sinks=tuple(sinks),
        dead_letter=dead_letter,
        cities=cities,
        max_per_batch=chance.choice((None, None, mood.most // 2 + 1, mood.most * 2)),
        options=_options(chance),
        spill_after=chance.choice((None, 10, 40)),
        faults=tuple(draw_faults(chance, with_kills=with_kills) for _ in range(runs)),
    )


def _mood(chance: Random, operator: str, *, is_timed: bool, most: int) -> Mood:
    # Pairs of rows are many more than rows.
    most = 40 if operator == "pairs" else chance.choice((20, most // 3, most))
    return Mood(
        users=chance.choice((1, 3, 8)),
        is_skewed=chance.random() < 0.3,
        repeats=chance.choice((0.0, 0.2, 0.5)),
        malformed=chance.choice((0.0, 0.0, 0.1)),
        late=0.1 if is_timed and operator in ("windows", "both", "dedupe", "none") else 0.0,
        tombstones=0.05 if not is_timed and chance.random() < 0.3 and operator != "pairs" else 0.0,
        aborted=chance.choice((0.0, 0.0, 0.4)),
        most=most,
    )


def _sources(
    chance: Random, name: str, mood: Mood, operator: str, *, is_timed: bool
) -> tuple[list[Source], str | None]:
    delay = chance.choice((5, 10, 30)) if is_timed else None
    has_letters = chance.random() < 0.5
    malformed = None
    if mood.malformed:
        malformed = chance.choice((None, "dead_letter")) if has_letters else "drop"
    sources = [
        draw_source(
            chance, name="input", topic=f"{name}-in", delay_seconds=delay, malformed=malformed
        )
    ]
    if operator == "pairs":
        other = draw_source(
            chance, name="other", topic=f"{name}-other", delay_seconds=delay, malformed="drop"
        )
        while other.format == "text":
            other.format = chance.choice(formats.FORMATS)
        sources.append(other)
    return sources, f"{name}-dead" if has_letters else None


def _checks(chance: Random, source: Source, *, has_letters: bool) -> list[Check]:
    if source.format == "text" or chance.random() < 0.6:
        return []
    otherwise = ("drop", "dead_letter") if has_letters else ("drop",)
    return [
        Check(
            f"check{number}",
            expressions.condition(chance, source.columns, depth=1),
            chance.choice(otherwise),
        )
        for number in range(chance.randrange(1, 3))
    ]


def _checks_on_steps(chance: Random, path: _Path) -> list[Check]:
    """Counts that change are not checked: which of them are seen depends on batches."""
    return [
        Check(f"on-{view}", expressions.condition(chance, path.columns[view + 1]), "drop", view)
        for view, step in enumerate(path.steps)
        if "seq" in step.columns and chance.random() < 0.1
    ]


def _path(chance: Random, sources: list[Source], operator: str, cities: dict[str, str]) -> _Path:
    path = _Path([], [sources[0].view], [("append",)], [()])
    is_timed = sources[0].delay_seconds is not None
    if sources[0].format == "text":
        path.add(steps.parse_text(), ("append",))
    for _ in range(chance.randrange(3)):
        step = steps.draw_step(chance, path.columns[-1], cities=cities, is_timed=is_timed)
        path.add(step, ("append",))
    match operator:
        case "dedupe":
            is_forever = not is_timed or chance.random() < 0.5
            path.add(Dedupe(path.columns[-1], is_forever), ("append",))
        case "windows":
            _add_windows(chance, path)
        case "both":
            path.add(Dedupe(path.columns[-1], chance.random() < 0.5), ("append",))
            size = chance.choice((5, 10))
            path.add(Windows(size, size), ("append",), Windows.keys)
        case "running":
            path.add(Running(), ("update", "complete"), Running.keys)
        case "numbering":
            path.add(Numbering(), ("append",))
        case "pairs":
            seconds, is_left = chance.choice((1, 5)), is_timed and chance.random() < 0.5
            path.add(Pairs(path.columns[-1], sources[1], seconds, is_left), ("append",))
    if operator in ("none", "dedupe", "pairs") and path.steps and chance.random() < 0.5:
        step = steps.draw_step(chance, path.columns[-1], cities=cities, is_timed=False)
        path.add(step, ("append",))
    return path


def _add_windows(chance: Random, path: _Path) -> None:
    if chance.random() < 0.3:
        # Two sessions may become one with another start: of those that are not over nobody knows what was written.
        path.add(Windows(None, chance.choice((1, 3))), ("append",), Windows.keys)
        return
    size = chance.choice((4, 10, 20))
    slide = chance.choice((size, size // 2))
    path.add(Windows(size, slide), ("append", "update", "complete"), Windows.keys)


def _sinks(
    chance: Random, path: _Path, name: str, home: Path, *, first: int, runs: int
) -> list[Plan]:
    """The last view is written, and perhaps others from the first on."""
    last = len(path.steps) - 1
    views = [last, *(chance.randrange(-1, last + 1) for _ in range(chance.choice((0, 0, 1, 2))))]
    found = []
    for number, view in enumerate(views):
        at = max(view, first)
        found.append(
            draw_sink(
                chance,
                view=at,
                columns=path.columns[at + 1],
                outputs=path.outputs[at + 1],
                keys=path.keys[at + 1],
                name=f"{name}-out{number}",
                folder=str(home / "files"),
                runs=runs,
            )
        )
    return found


def _options(chance: Random) -> dict[str, str]:
    options = {"spark.sql.shuffle.partitions": chance.choice(("1", "1", "2", "3"))}
    if chance.random() < 0.3:
        options["spark.sql.execution.arrow.maxRecordsPerBatch"] = chance.choice(("1", "7"))
    if chance.random() < 0.5:
        # To compile a query takes longer than to run it on so few records.
        options["spark.sql.codegen.wholeStage"] = "false"
    if chance.random() < 0.2:
        options["spark.sql.adaptive.enabled"] = "false"
    return options
