"""`klamm demo`: a broker, a few records there and back, then a Spark pipeline. What `make run` shows to somebody new.

It runs the commands that it prints, as processes of their own: what you see is what you can type. The broker comes first,
because it is there within a second; Spark takes some.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from klamm.cli.connect import command_group, run_typer
from klamm.cli.demo.clicks import as_lines, clicks, pages_of
from klamm.cli.output import CommandError, complain

app = command_group("Start a broker and show records and a pipeline.")

TOPIC = "klamm-demo"
RECORDS = ("ann:bought apples", "bob:bought bread", "ann:paid")
CLICKS, PAGES, TABLE = "klamm-demo.clicks", "klamm-demo.pages", "klamm_demo_pages"
PIPELINE = Path(__file__).with_name("pipeline.yaml")
STOP_SECONDS = 20.0


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "demo", arguments)


@app.command()
def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End after the show, and do not stay up.")
    ] = False,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="DIR", help="As `klamm serve`.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="As `klamm serve`.")
    ] = None,
    no_spark: Annotated[
        bool, typer.Option("--no-spark", help="Show the broker alone, and no pipeline.")
    ] = False,
) -> None:
    """Start a broker, produce, consume, run a pipeline on Spark; then stay up until Ctrl-C."""
    place = ([] if data is None else ["--data", data]) + (
        [] if port is None else ["--port", str(port)]
    )
    with (
        tempfile.TemporaryDirectory(prefix="klamm-demo-") as folder,
        _broker(place) as (process, address),
    ):
        _show(address)
        works = no_spark or _show_pipeline_if_possible(address, Path(folder), must_work=once)
        print("\nIt works." if works else "\nThe broker works; the pipeline does not yet.")
        if once:
            return
        try:
            print(
                f"\nThe broker listens on {address}. Any Kafka client can use it; Ctrl-C stops it.",
                flush=True,
            )
            process.wait()
        except KeyboardInterrupt:
            print("\nStopping.")
            return
    raise CommandError("the broker ended by itself", why=f"exit code {process.returncode}")


@contextmanager
def _broker(place: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    _say("serve", *place)
    command = [*_klamm(), "serve", *place, "--json", "--log-level", "warning"]
    # SIGTERM to us must not leave the broker behind: let it unwind the stack like Ctrl-C.
    before = signal.signal(signal.SIGTERM, _interrupt)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                # It has said why on stderr, which is ours too.
                raise CommandError(
                    "the broker did not start",
                    hint="`make run PORT=0` or `klamm demo --port 0` takes a free port; --data DIR another directory",
                )
            ready = json.loads(line)
            print(
                f"ready on {ready['address']} (cluster {ready['cluster_id']}, data {ready['data']})",
                flush=True,
            )
            yield process, ready["address"]
        finally:
            signal.signal(signal.SIGTERM, before)
            _stop(process)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _show(address: str) -> None:
    began_ms = int(time.time() * 1000)
    _run(address, "topic", "create", TOPIC, "--partitions", "3", "--if-not-exists")
    _run(address, "produce", TOPIC, "--key-separator", ":", lines=RECORDS)
    # Only what this run has sent: the data directory may have seen other demos.
    shown = _run(address, "consume", TOPIC, "--exit", "-o", f"@{began_ms}", "--format", "%k:%s\\n")
    if sorted(shown.splitlines()) != sorted(RECORDS):
        raise CommandError(
            "the records did not come back",
            why=f"sent {RECORDS}, read {shown!r}",
            hint="klamm doctor",
        )


def _show_pipeline_if_possible(address: str, folder: Path, *, must_work: bool) -> bool:
    """Without Spark, or without what it needs, the broker is still worth showing. False if the pipeline failed."""
    if missing := _missing_for_spark():
        print(f"\nThere is more to see, a pipeline on Spark: {missing}", flush=True)
        return True
    try:
        _show_pipeline(address, folder)
    except CommandError as failure:
        if must_work:
            raise
        complain(failure)
        return False
    return True


def _missing_for_spark() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "pip install 'klamm[pipeline]', then klamm demo"
    from klamm.pipeline.java import JavaMissing, find_java

    try:
        find_java()
    except JavaMissing as missing:
        return str(missing)
    return None


def _show_pipeline(address: str, folder: Path) -> None:
    """Clicks flow into a topic; a pipeline makes a topic and a table of them; both must hold what they should."""
    sample = clicks()
    file, lines = folder / "pipeline.yaml", folder / "clicks.jsonl"
    shutil.copyfile(PIPELINE, file)
    lines.write_text(as_lines(sample))
    print("\nNow a pipeline. These are the clicks that it reads, and this is the pipeline:")
    _say_shell("head", "-2", str(lines))
    print("".join(lines.read_text().splitlines(keepends=True)[:2]), end="")
    _say_shell("cat", str(file))
    print(file.read_text(), end="", flush=True)
    there = _topics(address)
    for topic in (CLICKS, PAGES):
        if topic in there:  # of an earlier demo: its records would be counted again
            _run(address, "topic", "delete", topic)
        _run(address, "topic", "create", topic, "--partitions", "2")
    _run(address, "produce", CLICKS, str(lines))
    # The address is named: a pipeline remembers the cluster of its last run.
    checkpoint = str(folder / "checkpoint")
    run = ("pipeline", "run", str(file), "--once", "--checkpoint", checkpoint, "-b", address)
    _run(address, *run)
    in_topic = _run(address, "consume", PAGES, "--exit", "--format", "%s\\n")
    question = f"SELECT page, clicks, slowest_ms FROM {TABLE} ORDER BY clicks DESC"
    in_table = _run(address, "sql", question)
    expected = pages_of(sample)
    _check(f"the topic {PAGES}", sorted(_rows(in_topic), key=lambda row: -row["clicks"]), expected)
    _check(f"the table {TABLE}", _rows(in_table), expected)
    print(f"\n{len(sample)} clicks became {len(expected)} rows, in a topic and in a table.")


def _topics(address: str) -> set[str]:
    listed = subprocess.run(
        [*_klamm(), "topic", "list", "-o", "json", "-b", address],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return {row["topic"] for row in _rows(listed.stdout)}


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise CommandError(f"{what} is wrong", why=f"found {found}, expected {expected}")


def _run(address: str, *arguments: str, lines: Sequence[str] = ()) -> str:
    _say(*arguments, lines=lines)
    done = subprocess.run(
        [*_klamm(), *arguments],
        input="".join(f"{line}\n" for line in lines),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "KLAMM_BOOTSTRAP": address},
        check=False,
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise CommandError(f"klamm {arguments[0]} failed", why=f"exit code {done.returncode}")
    return done.stdout


def _say(*arguments: str, lines: Sequence[str] = ()) -> None:
    piped = f"printf '%s\\n' {shlex.join(lines)} | " if lines else ""
    print(f"\n$ {piped}klamm {shlex.join(arguments)}", flush=True)


def _say_shell(*words: str) -> None:
    print(f"\n$ {shlex.join(words)}", flush=True)


def _klamm() -> list[str]:
    """This very installation, whether or not `klamm` is on the PATH."""
    return [sys.executable, "-c", "import sys; from klamm.cli.app import main; sys.exit(main())"]
