"""Where the work of compaction is done: in a process of its own, so that no request waits for the interpreter.

A thread would take turns with the one that serves, five milliseconds at a time. A disk that exists only in this
process, as tests have it, gets a thread all the same. Either way a worker has one job at a time, and is called from one
thread that may wait.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.compaction.cleaner import Cleaning, Copied, Job
from klamm.log.disk import Disk, RealDisk

CHILD = "klamm.server.loops.cleaner_child"


class Stopped(Exception):
    """Nobody waits for this round any more."""


class WorkerDied(Exception):
    """The process that did the work ended in the middle of it."""


class CannotStartWorker(Exception):
    """The machine has no room for another process now; that says nothing about its disks."""


class Plan(NamedTuple):
    """After the first pass: what is to be copied, and where the next round begins."""

    end_offset: int
    groups: Sequence[Sequence[int]]


class Answer(NamedTuple):
    """Of the process: a result, or an error in a form that travels."""

    result: Plan | Copied | None = None
    os_error: tuple[object, ...] | None = None
    refusal: str | None = None


class Worker(Protocol):
    def begin(self, job: Job, bytes_per_second: float) -> Plan: ...
    def copy(self, group: Sequence[int]) -> Copied | None: ...
    def rest(self) -> None:
        """Give back what it holds; there is nothing to do for now."""

    def stop(self) -> None:
        """For good, from any thread: what is under way ends with Stopped."""


def worker_for(disk: Disk) -> Worker:
    return ProcessWorker() if isinstance(disk, RealDisk) else ThreadWorker(disk)


class ThreadWorker:
    """In the thread that calls."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._pace: Pace | None = None
        self._cleaning: Cleaning
        self._is_stopped = False

    def begin(self, job: Job, bytes_per_second: float) -> Plan:
        self._pace = Pace(bytes_per_second, is_stopped=self._is_stopped)
        self._cleaning = Cleaning(self._disk, job, self._pace)
        self._cleaning.build_map()
        return Plan(self._cleaning.end_offset, self._cleaning.groups())

    def copy(self, group: Sequence[int]) -> Copied | None:
        return self._cleaning.copy(group)

    def rest(self) -> None:
        self._pace = None

    def stop(self) -> None:
        self._is_stopped = True
        if self._pace is not None:
            self._pace.is_stopped = True


class ProcessWorker:
    """Speaks with klamm.server.loops.cleaner_child over its standard streams. Started when there is work."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def begin(self, job: Job, bytes_per_second: float) -> Plan:
        plan = self._ask(("begin", job, bytes_per_second))
        assert isinstance(plan, Plan)
        return plan

    def copy(self, group: Sequence[int]) -> Copied | None:
        copied = self._ask(("copy", group))
        assert not isinstance(copied, Plan)
        return copied

    def rest(self) -> None:
        """The process ends with its input; its memory goes back to the machine."""
        if self.process is not None:
            process, self.process = self.process, None
            process.communicate()

    def stop(self) -> None:
        self._is_stopped = True
        if self.process is not None:
            self.process.kill()

    def _ask(self, question: object) -> Plan | Copied | None:
        process = self.process = self.process or _start()
        if self._is_stopped:
            process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.process = None
            with process:
                process.kill()
            if self._is_stopped:
                raise Stopped from None
            raise WorkerDied(f"exit code {process.returncode}") from None
        assert isinstance(answer, Answer)
        if answer.os_error is not None:
            raise OSError(*answer.os_error)
        if answer.refusal is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, answer.refusal)
        return answer.result


def _start() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-m", CHILD, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Whatever found klamm for this process finds it for the other.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except OSError as e:
        raise CannotStartWorker(str(e)) from e


class Pace:
    """Called after every batch with the bytes that went by; waits where they were too many."""

    _LONGEST_WAIT_SECONDS = 0.1

    def __init__(self, bytes_per_second: float, *, is_stopped: bool = False) -> None:
        self._bytes_per_second = bytes_per_second
        self._bytes = 0
        self._began = time.monotonic()
        self.is_stopped = is_stopped

    def __call__(self, size: int) -> None:
        self._bytes += size
        due = self._began + self._bytes / self._bytes_per_second
        while (wait := due - time.monotonic()) > 0 and not self.is_stopped:
            time.sleep(min(wait, self._LONGEST_WAIT_SECONDS))
        if self.is_stopped:
            raise Stopped
