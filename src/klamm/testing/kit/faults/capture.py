"""Asking the broker in a client's name, and hearing its answer first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from klamm.server.network.connection import Connection, Dispatch
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import Parked, Pending

Done = Callable[[Answer | None], None]


class Capture:
    """To a handler it is the connection; only what it answers comes to us."""

    __slots__ = ("_connection", "_done", "_pending")

    def __init__(self, connection: Connection, done: Done) -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_done", done)
        object.__setattr__(self, "_pending", None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._connection, name, value)

    def finish(self, answer: Answer | None) -> None:
        self._done(answer)

    def send_settled(self) -> None:
        if self._pending.answer is not None:
            self._done(self._pending.answer)

    def wait_for(self, pending: Pending) -> None:
        object.__setattr__(self, "_pending", pending)
        pending.connection = cast(Connection, self)
        self.send_settled()


def ask(dispatch: Dispatch, connection: Connection, frame: memoryview, done: Done) -> None:
    """`done` hears the answer, now or later."""
    capture = Capture(connection, done)
    reply = dispatch(cast(Connection, capture), frame)
    if isinstance(reply, Pending):
        capture.wait_for(reply)
    elif not isinstance(reply, Parked):
        done(reply)
