"""Where a rig runs: in a thread of this process, or in a child process that ends when this one does."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from struct import Struct
from typing import IO, Any, Protocol

from klamm.testing.kit.clock import MovedLoop
from klamm.testing.kit.rig import Plan, Rig

_SECONDS = 60.0
_SIZE = Struct(">I")
CHILD = "klamm.testing.kit.child"


class BrokerDied(Exception):
    """The child process of the broker has ended."""


class Carrier(Protocol):
    def call(self, name: str, *args: Any) -> Any:
        """A method of the rig, by its name. What it raises is raised here."""

    def close(self) -> None:
        """The rig was closed, or is past it."""

    @property
    def pid(self) -> int: ...


class InThread:
    def __init__(self, plan: Plan) -> None:
        self._loop = MovedLoop()
        self._rig = Rig(plan)
        self._thread = threading.Thread(target=self._run, name="klamm-broker", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def rig(self) -> Rig:
        """For who must look inside; only on its own loop."""
        return self._rig

    def call(self, name: str, *args: Any) -> Any:
        work = getattr(self._rig, name)(*args)
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(_SECONDS)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


class InProcess:
    """Calls and results are pickled, over its stdin and stdout. It ends when its stdin does."""

    def __init__(self, plan: Plan) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._out, self._in = self._process.stdin, self._process.stdout
        try:
            self._ask(plan)
        except BaseException:
            self._end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, name: str, *args: Any) -> Any:
        return self._ask((name, args))

    def _ask(self, question: object) -> Any:
        with self._lock:
            try:
                send(self._out, question)
                is_done, answer = receive(self._in)
            except (OSError, EOFError) as e:
                code = self._process.wait(_SECONDS)
                raise BrokerDied(f"the broker's process ended with {code}") from e
        if not is_done:
            raise answer
        return answer

    def kill(self) -> None:
        """As a power failure: nothing is flushed, nobody is told."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._end()

    def _end(self) -> None:
        # It may be gone, and what was still to be sent with it.
        with suppress(OSError):
            self._out.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._in.close()


def send(pipe: IO[bytes], thing: object) -> None:
    data = pickle.dumps(thing)
    pipe.write(_SIZE.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """EOFError when the other side is gone."""
    (size,) = _SIZE.unpack(_exactly(pipe, _SIZE.size))
    return pickle.loads(_exactly(pipe, size))


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
