"""`klamm pipeline run` as a process with a real Spark: seen, measured, refused twice, stopped; and what follows it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import urlopen
from uuid import uuid4

import pytest

pytest.importorskip("pyspark")

from cli.commands import Klamm
from klamm.pipeline.running import registry
from pipeline.cli import files
from pipeline.reading.records import create, put, records_of
from support.brokers import free_port

KLAMM = str(Path(sys.executable).with_name("klamm"))
# Far more than it takes: other tests have the processors as well.
MAX_SECONDS = 600.0
HOUR_MS = 3_600_000

PIPELINE = """\
name: {name}
source: {{topic: {name}, format: text}}
sink: {{topic: {name}-out, format: text}}
options: {{spark.driver.memory: 1g}}
"""


@contextmanager
def run_of(file: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [KLAMM, "pipeline", "run", file, "--master", "local[1]", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(MAX_SECONDS, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            process.kill()
            watchdog.cancel()


def line_with(process: "subprocess.Popen[str]", stream: IO[str] | None, sign: str) -> str:
    assert stream is not None
    for line in stream:
        if re.search(sign, line):
            return line
    raise AssertionError(f"it ended without {sign!r}: {process.communicate()}")


@pytest.fixture
def name(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A pipeline over a topic with two old records and a new one."""
    monkeypatch.setenv("KLAMM_BOOTSTRAP", bootstrap)
    name = f"run-{uuid4().hex[:8]}"
    create(bootstrap, name, f"{name}-out")
    now_ms = time.time_ns() // 1_000_000
    put(bootstrap, name, b"a", b"b", timestamp=now_ms - HOUR_MS)
    put(bootstrap, name, b"c", timestamp=now_ms)
    return name


@pytest.mark.usefixtures("in_the_session")
def test_run_from_its_first_batch_to_a_replay(
    pipeline: Klamm, home: Path, bootstrap: str, name: str
) -> None:
    file = files.write(home, PIPELINE.format(name=name))
    port = free_port()

    with run_of(file, "--metrics-port", str(port)) as process:
        batch = line_with(process, process.stdout, "batch 0")
        (status,) = pipeline("status", name).rows
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
            metrics = page.read().decode()
        second = pipeline("run", file)
        stopped = pipeline("stop", name, "--timeout", str(MAX_SECONDS))
        _, said = process.communicate()

    assert f"topic.{name}-out batch 0: 3 in " in batch
    assert (status["state"], status["pid"]) == ("running", process.pid)
    assert f'input_records_total{{pipeline="{name}",query="topic.{name}-out"}} 3.0' in metrics
    assert (second.code, second.out) == (1, b"")
    assert f"pipeline {name} runs already (pid {process.pid})" in second.err
    assert (stopped.code, stopped.rows[0]["result"]) == (0, "stopped")
    assert process.returncode == 0
    assert f"{name} ended: 3 records in 1 batches" in said
    # Nothing of Java's, nor of the workers'.
    ours = ("Spark starts", "stopping", "the cluster at", f"{name} ended")
    assert [line for line in said.splitlines() if not line.startswith(ours)] == []
    assert [row["lag"] for row in pipeline("lag", name).rows] == [0]

    assert pipeline("replay", file, "--from", "30 minutes ago", "--execute").code == 0
    again = pipeline("run", file, "--once", "-o", "json")

    assert again.code == 0, again.err
    assert again.rows[-1]["queries"][0]["input_records"] == 1
    written = sorted(record.value() for record in records_of(bootstrap, f"{name}-out"))
    assert written == [b"a", b"b", b"c", b"c"]
    assert registry.start_override(name) is None


@pytest.mark.spark
def test_second_interrupt_ends_a_run_at_once(home: Path, name: str) -> None:
    file = files.write(home, PIPELINE.format(name=name))

    with run_of(file) as process:
        line_with(process, process.stderr, "Spark starts")
        os.kill(process.pid, signal.SIGINT)
        line_with(process, process.stderr, "stopping")
        os.kill(process.pid, signal.SIGINT)
        code = process.wait()

    ended = registry.look(name)
    assert code == 130
    assert ended is not None
    assert ended.state is registry.State.STOPPED


@pytest.mark.usefixtures("spark")
def test_plan_asks_spark_for_the_columns_of_every_view(
    pipeline: Klamm, home: Path, name: str
) -> None:
    steps = 'steps: [{view: lengths, sql: "SELECT value, length(value) n FROM input"}]\n'
    file = files.write(home, PIPELINE.format(name=name) + steps)

    planned = pipeline("plan", file, "--schemas")

    assert planned.code == 0, planned.err
    assert planned.rows[0]["schemas"] == {
        "input": "value string",
        "lengths": "value string, n int",
    }
