"""Compaction in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.compaction.cleaner import Copied, Job
from klamm.server.world.compaction import CannotStartWorker, Plan, Stopped, WorkerDied

CHILD = "klamm.server.world.compaction_child"


class Answer(NamedTuple):
    """Of the process: a result, or an error in a form that travels."""

    result: Plan | Copied | None = None
    os_error: tuple[object, ...] | None = None
    refusal: str | None = None


class CompactionProcess:
    """Speaks with klamm.server.world.compaction_child over its standard streams. Started when there is work."""

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
