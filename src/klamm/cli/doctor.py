"""`klamm doctor`: is this machine fit for a broker, and does one answer? Each finding says what to try."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

import klamm
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_reachable,
    cluster_metadata,
    command_group,
    parse_address,
    run_typer,
)
from klamm.cli.output import CommandError, show
from klamm.cli.serve import default_data_directory

app = command_group("Check this machine, the data directory and the broker.")

GIB = 1 << 30
MIN_FREE_BYTES = GIB // 10
GOOD_FREE_BYTES = GIB
# A broker that is well answers in milliseconds.
ANSWER_SECONDS = 2.0
# A partition needs a handful of files, a connection one.
GOOD_OPEN_FILES = 4096
# Pipelines keep their checkpoints and tables below the broker's default directory.
_OF_PIPELINES = {"pipelines", "lake"}


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    status: Status
    check: str
    found: str
    hint: str | None = None


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "doctor", arguments)


@app.command()
def doctor(
    data: Annotated[
        Path | None, typer.Option("--data", "-d", help="The data directory to look at.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Check what a broker and its clients need; exit code 1 if something will not work."""
    directory = data or Path(default_data_directory(os.environ))
    findings = [
        check_python(),
        *check_packages(),
        check_open_files(),
        check_clock(),
        check_directory(directory),
        check_space(directory),
        check_broker(bootstrap, properties or ()),
    ]
    show((finding._asdict() for finding in findings), output)
    if any(finding.status is Status.FAIL for finding in findings):
        raise typer.Exit(1)


def check_python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.version_info < (3, 11) or sys.implementation.name != "cpython":
        return Finding(Status.FAIL, "python", found, "klamm needs CPython 3.11 or newer")
    return Finding(Status.OK, "python", found)


def check_packages() -> Iterator[Finding]:
    """What pyproject.toml asks for, without the extras."""
    missing, found = [], []
    for requirement in requires("klamm") or ():
        if "extra ==" in requirement:
            continue
        name = requirement.split(";")[0].split(">")[0].split("=")[0].strip()
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding(
            Status.FAIL,
            "packages",
            f"missing: {', '.join(missing)}",
            "make setup, or install klamm again",
        )
    yield Finding(Status.OK, "packages", ", ".join(found))


def check_open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < GOOD_OPEN_FILES:
        return Finding(
            Status.WARN, "open files", f"{soft} of {hard} allowed", f"ulimit -n {min(hard, 20_000)}"
        )
    return Finding(Status.OK, "open files", f"{soft} allowed")


def check_clock() -> Finding:
    """Records carry the time. A clock that is behind our own files is certainly wrong."""
    now = time.time()
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < Path(klamm.__file__).stat().st_mtime:
        return Finding(
            Status.WARN,
            "clock",
            f"{moment}, which is before klamm was installed",
            "set the clock, run NTP",
        )
    return Finding(Status.OK, "clock", moment)


def check_directory(directory: Path) -> Finding:
    nearest = _nearest_existing(directory)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(
            Status.FAIL,
            "data directory",
            f"{directory} cannot be written",
            "klamm serve --data DIR",
        )
    if not directory.exists():
        return Finding(Status.OK, "data directory", f"{directory} will be created")
    if (directory / "meta.properties").exists():
        partitions = sum(1 for entry in directory.iterdir() if entry.is_dir())
        return Finding(Status.OK, "data directory", f"{directory} holds {partitions} partitions")
    if any(entry.name not in _OF_PIPELINES for entry in directory.iterdir()):
        found = f"{directory} is not empty and not a broker's"
        return Finding(
            Status.FAIL, "data directory", found, "klamm serve --data DIR with another directory"
        )
    return Finding(Status.OK, "data directory", f"{directory} is empty")


def check_space(directory: Path) -> Finding:
    usage = shutil.disk_usage(_nearest_existing(directory))
    found = f"{usage.free / GIB:.1f} of {usage.total / GIB:.1f} GiB free"
    if usage.free < MIN_FREE_BYTES:
        return Finding(
            Status.FAIL, "disk space", found, "make room, or choose another disk with --data"
        )
    if usage.free < GOOD_FREE_BYTES:
        return Finding(
            Status.WARN,
            "disk space",
            found,
            "one segment alone may take 1 GiB: lower log.segment.bytes",
        )
    return Finding(Status.OK, "disk space", found)


def check_broker(bootstrap: str, properties: Sequence[str]) -> Finding:
    """Who answers at the address; if nobody does, whether a broker could have it."""
    try:
        check_reachable(bootstrap)
    except CommandError as error:
        return _check_port(bootstrap, error)
    try:
        metadata = cluster_metadata(
            Cluster.at(bootstrap, properties).admin(), timeout_s=ANSWER_SECONDS
        )
    except CommandError as error:
        hint = "another program has the port: klamm serve --port PORT"
        return Finding(
            Status.FAIL, "broker", f"{bootstrap} accepts connections, but: {error.why}", hint
        )
    found = (
        f"cluster {metadata.cluster_id} with {len(metadata.brokers)} brokers answers at {bootstrap}"
    )
    return Finding(Status.OK, "broker", found)


def _check_port(bootstrap: str, unreachable: CommandError) -> Finding:
    host, port = parse_address(bootstrap.split(",")[0])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # As a server does: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = f"{unreachable.why}; {error.strerror or error}"
            return Finding(Status.WARN, "broker", why, "klamm serve, or another address with -b")
    return Finding(Status.OK, "broker", f"nobody at {host}:{port}: the port is free", "klamm serve")


def _nearest_existing(path: Path) -> Path:
    return next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
