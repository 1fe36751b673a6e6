"""Audit: one line of JSON for each failed login, denied operation and administrative change (klamm.audit.file, .topic).

Lines are written beside the loop, in order. If they come faster than they can be written, some are dropped, and a line says
how many: a client that is denied a thousand times a second must not fill the memory.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from klamm.base.clock import Clock
from klamm.base.errors import ErrorCode
from klamm.server.authorization.rights import Right

if TYPE_CHECKING:
    from klamm.server.call import Call

log = logging.getLogger(__name__)

# Takes whole lines; an OSError is told once and ends nothing.
Sink = Callable[[bytes], Any]

_MOST_LINES = 10_000
# Of the names in a request.
_MOST_NAMES = 50
_LONGEST_NAME = 249
# The fields of requests that say what a change is about. Values are left out: some are secrets.
_NAMES = (
    "name",
    "topic",
    "topic_name",
    "topic_names",
    "groups_names",
    "group_id",
    "resource_name",
    "resource_name_filter",
    "principal",
    "user",
    "entity_name",
    "feature",
    "broker_id",
    "voter_id",
)


class Audit:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.sinks: list[Sink] = []
        self._lines: list[bytes] = []
        self._dropped = 0
        self._writing: asyncio.Task[None] | None = None
        self._has_failed = False

    # -- what happens -------------------------------------------------------------------------------------------------

    def denied(self, call: Call, right: Right, name: str) -> None:
        self._note(
            "denied",
            **_who(call),
            operation=right.operation.name,
            resource_type=right.resource_type.name,
            resource=_short(name),
        )

    def changed(self, call: Call, request: object, reply: object) -> None:
        """What an administrator asked for, and what became of it."""
        self._note(
            "change",
            **_who(call),
            resources=sorted({_short(name) for name in _found(request, _NAMES)})[:_MOST_NAMES],
            errors=sorted({_named(code) for code in _found(reply, ("error_code",)) if code != "0"}),
        )

    def login_failed(self, *, listener: str, host: str, mechanism: str, reason: str) -> None:
        self._note(
            "login-failed", listener=listener, host=host, mechanism=mechanism, reason=_short(reason)
        )

    # -- writing ------------------------------------------------------------------------------------------------------

    def _note(self, event: str, **facts: object) -> None:
        if len(self._lines) >= _MOST_LINES:
            self._dropped += 1
            return
        self._lines.append(self._line(event, facts))
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    def _line(self, event: str, facts: dict[str, object]) -> bytes:
        now = datetime.fromtimestamp(self._clock.wall() / 1000, UTC)
        time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps({"time": time, "event": event, **facts}).encode() + b"\n"

    async def _write(self) -> None:
        while self._lines:
            lines, self._lines = self._lines, []
            if self._dropped:
                lines.append(self._line("dropped", {"lines": self._dropped}))
                self._dropped = 0
            for sink in self.sinks:
                try:
                    await sink(b"".join(lines))
                except OSError as e:
                    self._failed(e)
        self._writing = None

    def _failed(self, error: OSError) -> None:
        if not self._has_failed:
            log.error("the audit lines cannot be written: %s", error)
            self._has_failed = True

    async def close(self) -> None:
        """Returns when all lines are written."""
        if self._writing is not None:
            await self._writing


def _who(call: Call) -> dict[str, object]:
    return {
        "principal": str(call.principal),
        "host": call.peer_host,
        "listener": call.connection.listener.name,
        "client_id": _short(call.client_id or ""),
        "api": call.api.name,
    }


def _short(text: str) -> str:
    return text[:_LONGEST_NAME]


def _named(code: str) -> str:
    return next((each.name for each in ErrorCode if str(int(each)) == code), code)


def _found(message: object, names: tuple[str, ...]) -> Iterator[str]:
    """The texts in fields of these names, however deep."""
    if isinstance(message, list):
        for each in message:
            yield from _found(each, names)
    elif (schema := getattr(type(message), "SCHEMA", None)) is not None:
        for field in schema.fields:
            value = getattr(message, field.name)
            if field.name in names:
                yield from (str(each) for each in (value if isinstance(value, list) else [value]))
            elif not isinstance(value, str | bytes | int):
                yield from _found(value, names)
