"""Which pipelines run on this machine and where each keeps what it knows: folders by XDG, one small file per fact.

A pipeline has one run at a time; the file of its last run stays, so that people can see how it ended. What is written
here is for people and for the next start: Spark's own progress is in the checkpoint.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from klamm.pipeline.spec.kinds import Reading
from klamm.pipeline.spec.model.values import Edge, FromOffsets, FromTime, Start, StartKind
from klamm.pipeline.spec.nodes import from_plain

_RUN = "run.json"
_PROGRESS = "progress.json"
_START = "start.json"
_LOCK = "lock"
_START_TIME_FIELD = 19  # the 22nd of /proc/PID/stat, counted from behind the command's name


class State(StrEnum):
    """STARTING until the first report. DIED is never written: it is what a run that is gone without a word looks like."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    DIED = "died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    name: str
    pid: int
    # Tells the process from a later one with the same number; None where the system does not say.
    process_birth: str | None
    started_ms: int
    # Where the pipeline was read from; None for one that was made in code.
    file: str | None
    bootstrap: str
    master: str
    checkpoint: str
    warehouse: str
    once: bool = False
    metrics_port: int | None = None
    state: State = State.STARTING
    ended_ms: int | None = None
    error: str | None = None

    @property
    def is_alive(self) -> bool:
        return self.state in (State.STARTING, State.RUNNING) and is_process(
            self.pid, self.process_birth
        )

    @property
    def is_ours(self) -> bool:
        return self.is_alive and self.pid == os.getpid()


class AlreadyRuns(Exception):
    """The pipeline has a run already. The text is for the user."""


def run_of_this_process(
    name: str,
    *,
    bootstrap: str,
    master: str,
    checkpoint: str,
    warehouse: str,
    file: str | None = None,
    once: bool = False,
    metrics_port: int | None = None,
) -> Run:
    return Run(
        name=name,
        pid=os.getpid(),
        process_birth=process_birth(os.getpid()),
        started_ms=_now_ms(),
        file=file,
        bootstrap=bootstrap,
        master=master,
        checkpoint=checkpoint,
        warehouse=warehouse,
        once=once,
        metrics_port=metrics_port,
    )


def checkpoint_of(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Where a pipeline keeps its progress and state unless its file says otherwise."""
    return str(_data_home(env) / "pipelines" / name / "checkpoint")


def warehouse(env: Mapping[str, str] = os.environ) -> str:
    """Where tables are kept: one place for all pipelines, so that one can read what another writes."""
    return str(_data_home(env) / "lake")


def state_home(env: Mapping[str, str] = os.environ) -> Path:
    """What klamm knows of its own past on this machine."""
    return _xdg(env, "XDG_STATE_HOME", ".local/state") / "klamm"


def state_folder(name: str, env: Mapping[str, str] = os.environ) -> Path:
    return _registry(env) / name


@contextmanager
def registered(run: Run, env: Mapping[str, str] = os.environ) -> Iterator[None]:
    """The run is known while the block lasts, and how it ended afterwards. Raises AlreadyRuns if there is another.

    In a process that has registered the pipeline already it changes nothing: the outer block tells how it ends.
    """
    with _alone(run.name, env):
        before = look(run.name, env)
        if before is not None and before.is_alive and not before.is_ours:
            raise AlreadyRuns(
                f"pipeline {run.name} runs already (pid {before.pid}): stop it with "
                f"`klamm pipeline stop {run.name}`, or give this one another name"
            )
        is_outer = before is None or not before.is_ours
        if is_outer:
            (state_folder(run.name, env) / _PROGRESS).unlink(missing_ok=True)
            _write_run(run, env)
    try:
        yield
    except Exception as error:
        if is_outer:
            _end(run, State.FAILED, str(error) or type(error).__name__, env)
        raise
    except BaseException:
        if is_outer:
            _end(run, State.STOPPED, None, env)
        raise
    if is_outer:
        _end(run, State.STOPPED, None, env)


def look(name: str, env: Mapping[str, str] = os.environ) -> Run | None:
    """The last run of a pipeline, as it is now."""
    facts = _read(state_folder(name, env) / _RUN)
    if facts is None:
        return None
    try:
        run = Run(**{**facts, "state": State(facts["state"])})
    except (KeyError, TypeError, ValueError):
        return (
            None  # Written by another version: nothing that could be said about it would be true.
        )
    if run.state in (State.STARTING, State.RUNNING) and not run.is_alive:
        return replace(run, state=State.DIED)
    return run


def all_runs(env: Mapping[str, str] = os.environ) -> list[Run]:
    """The last run of every pipeline that ever ran here, by name."""
    try:
        names = sorted(entry.name for entry in _registry(env).iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []
    return [run for name in names if (run := look(name, env)) is not None]


def note_progress(
    name: str, report: Mapping[str, object], env: Mapping[str, str] = os.environ
) -> None:
    """Keeps the last report for those who ask from another process."""
    run = look(name, env)
    if run is not None and run.is_ours and run.state is State.STARTING:
        _write_run(replace(run, state=State.RUNNING), env)
    _write(state_folder(name, env) / _PROGRESS, report)


def note_stopped(name: str, env: Mapping[str, str] = os.environ) -> None:
    """For a process that leaves without unwinding."""
    run = look(name, env)
    if run is not None and run.is_ours:
        _end(run, State.STOPPED, None, env)


def last_progress(name: str, env: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    return _read(state_folder(name, env) / _PROGRESS)


def start_override(name: str, env: Mapping[str, str] = os.environ) -> Start | None:
    """Where the topics are to be read from in place of the file's `start`: what `klamm pipeline replay` asked for.

    It counts for queries that have no checkpoint, as `start` does, and stands until all of them have one.
    """
    facts = _read(state_folder(name, env) / _START)
    if facts is None:
        return None
    found = StartKind().read(from_plain(facts.get("start"), _START), ("start",), Reading())
    return found if isinstance(found, Edge | FromTime | FromOffsets) else None


def start_override_of(name: str, env: Mapping[str, str] = os.environ) -> frozenset[str] | None:
    """The queries that the override is for; None: for all."""
    queries = (_read(state_folder(name, env) / _START) or {}).get("queries")
    return None if queries is None else frozenset(queries)


def set_start_override(
    name: str,
    start: Start,
    queries: Collection[str] | None = None,
    env: Mapping[str, str] = os.environ,
) -> None:
    facts = {
        "start": StartKind().write(start),
        "queries": None if queries is None else sorted(queries),
    }
    _write(state_folder(name, env) / _START, facts, durable=True)


def clear_start_override(name: str, env: Mapping[str, str] = os.environ) -> None:
    (state_folder(name, env) / _START).unlink(missing_ok=True)


def forget(name: str, env: Mapping[str, str] = os.environ) -> None:
    """Nothing is known of the pipeline's past any more."""
    for file in (_RUN, _PROGRESS, _START):
        (state_folder(name, env) / file).unlink(missing_ok=True)


def is_process(pid: int, birth: str | None) -> bool:
    """Whether a process is the one that was born then, and not a later one with its number."""
    if birth is not None:
        return process_birth(pid) == birth
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def process_birth(pid: int) -> str | None:
    """When a process began, counted from the machine's last start; None if there is none, or no /proc to ask."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name stands in brackets and may hold anything, brackets too. A zombie has ended.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{boot}/{fields[_START_TIME_FIELD - 1]}"


def _data_home(env: Mapping[str, str]) -> Path:
    return _xdg(env, "XDG_DATA_HOME", ".local/share") / "klamm"


def _registry(env: Mapping[str, str]) -> Path:
    return state_home(env) / "pipelines"


def _xdg(env: Mapping[str, str], variable: str, fallback: str) -> Path:
    home = env.get(variable) or os.path.join(env.get("HOME") or "~", fallback)
    return Path(home).expanduser()


@contextmanager
def _alone(name: str, env: Mapping[str, str]) -> Iterator[None]:
    """Two starts at the same moment must not both find nobody there."""
    folder = state_folder(name, env)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / _LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _end(run: Run, state: State, error: str | None, env: Mapping[str, str]) -> None:
    _write_run(replace(run, state=state, ended_ms=_now_ms(), error=error), env)


def _write_run(run: Run, env: Mapping[str, str]) -> None:
    _write(state_folder(run.name, env) / _RUN, asdict(run))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, facts: Mapping[str, object], *, durable: bool = False) -> None:
    """A reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with open(unfinished, "w") as file:
        json.dump(facts, file, ensure_ascii=False)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(unfinished, path)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
