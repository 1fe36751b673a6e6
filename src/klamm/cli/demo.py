"""`klamm demo`: a broker, a topic, a few records there and back. What `make run` shows to somebody new.

It runs the commands that it prints, as processes of their own: what you see is what you can type.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, NoReturn

import typer

from klamm.cli.connect import command_group, run_typer
from klamm.cli.output import CommandError

app = command_group("Start a broker and show a produce and a consume.")

TOPIC = "klamm-demo"
RECORDS = ("ann:bought apples", "bob:bought bread", "ann:paid")
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
    port: Annotated[int | None, typer.Option("--port", "-p", help="As `klamm serve`.")] = None,
) -> None:
    """Start a broker, create a topic, produce, consume; then stay up until Ctrl-C."""
    place = ([] if data is None else ["--data", data]) + (
        [] if port is None else ["--port", str(port)]
    )
    with _broker(place) as (process, address):
        _show(address)
        if once:
            print("\nIt works.")
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
                    "the broker did not start", hint="klamm doctor; or --port 0, --data DIR"
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


def _klamm() -> list[str]:
    """This very installation, whether or not `klamm` is on the PATH."""
    return [sys.executable, "-c", "import sys; from klamm.cli.app import main; sys.exit(main())"]
