"""The child process of a broker under test: does what its parent asks, and ends when the parent is gone."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
from typing import IO

from klamm.base.errors import ApiError
from klamm.testing.kit.carriers import InThread, receive, send


def main() -> int:
    # What interrupts the tests ends them, and they end this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, handlers=[logging.NullHandler()])
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Whoever prints must not disturb the conversation.
    os.dup2(2, 1)
    carrier = InThread(receive(questions))
    send(answers, (True, os.getpid()))
    try:
        _serve(carrier, questions, answers)
    finally:
        carrier.call("close")
        carrier.close()
    return 0


def _serve(carrier: InThread, questions: IO[bytes], answers: IO[bytes]) -> None:
    while True:
        try:
            name, args = receive(questions)
        except EOFError:
            return
        try:
            answer = True, carrier.call(name, *args)
        except Exception as e:  # noqa: BLE001 - it is the caller's
            answer = False, _portable(e)
        send(answers, answer)


def _portable(error: Exception) -> Exception:
    """One that says the same on the other side."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - any class may refuse in its own way
        copy = None
    if isinstance(error, ApiError) or copy is None:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    sys.exit(main())
