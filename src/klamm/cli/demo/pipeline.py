"""A pipeline on Spark over sample clicks. It begins, a broker dies meanwhile, and its result must be right."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from klamm.cli.demo.clicks import Click, as_lines, clicks, pages_of
from klamm.cli.demo.screen import Background, begin, run, say_shell, tell
from klamm.cli.output import CommandError

CLICKS, PAGES, TABLE = "klamm-demo.clicks", "klamm-demo.pages", "klamm_demo_pages"
_FILE = Path(__file__).with_name("pipeline.yaml")


def missing_for_spark() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "pip install 'klamm[pipeline]', then klamm demo"
    from klamm.pipeline.java import JavaMissing, find_java

    try:
        find_java()
    except JavaMissing as missing:
        return str(missing)
    return None


@dataclass(frozen=True, slots=True)
class RunningPipeline:
    bootstrap: str
    sample: list[Click]
    background: Background

    def show_result(self) -> None:
        """Waits for its end. The topic and the table must both hold what plain Python makes of the clicks."""
        self.background.wait()
        in_topic = run(self.bootstrap, "consume", PAGES, "--exit", "--format", "%s\\n")
        question = f"SELECT page, clicks, slowest_ms FROM {TABLE} ORDER BY clicks DESC"
        in_table = run(self.bootstrap, "sql", question)
        expected = pages_of(self.sample)
        pages = sorted(_rows(in_topic), key=lambda row: -row["clicks"])
        _check(f"the topic {PAGES}", pages, expected)
        _check(f"the table {TABLE}", _rows(in_table), expected)
        tell(f"{len(self.sample)} clicks became {len(expected)} rows, in a topic and in a table.")


@contextmanager
def pipeline_over_clicks(bootstrap: str, folder: Path) -> Iterator[RunningPipeline]:
    sample = clicks()
    file, lines = folder / "pipeline.yaml", folder / "clicks.jsonl"
    shutil.copyfile(_FILE, file)
    lines.write_text(as_lines(sample))
    _bring_jars()
    tell("A pipeline. These are the clicks that it reads, and this is the pipeline:")
    say_shell("head", "-2", str(lines))
    print("".join(lines.read_text().splitlines(keepends=True)[:2]), end="")
    say_shell("cat", str(file))
    print(file.read_text(), end="", flush=True)
    run(bootstrap, "produce", CLICKS, str(lines))
    # The address is named: a pipeline remembers the cluster of its last run.
    checkpoint = str(folder / "checkpoint")
    words = ("pipeline", "run", str(file), "--once", "--checkpoint", checkpoint, "-b", bootstrap)
    background = begin(bootstrap, *words)
    try:
        yield RunningPipeline(bootstrap, sample, background)
    finally:
        background.stop()


def _bring_jars() -> None:
    """Before anything else is shown beside it: it has a bar."""
    from klamm.cli.pipeline.fetch import bring
    from klamm.pipeline.jars import Use, jars_for

    bring(jars_for((Use.TOPICS, Use.ICEBERG)))


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise CommandError(f"{what} is wrong", why=f"found {found}, expected {expected}")
