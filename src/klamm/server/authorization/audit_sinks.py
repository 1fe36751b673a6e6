"""Where audit lines go."""

from __future__ import annotations

from contextlib import AsyncExitStack

from klamm.base.settings.broker import Settings
from klamm.log.disk import File
from klamm.server.authorization.audit import Audit
from klamm.server.world.ports import Worker, World


def open_audit(world: World, settings: Settings, stack: AsyncExitStack) -> Audit | None:
    """None where nobody wants it. OSError if the file cannot be opened: then the node does not start."""
    wanted = settings.authorization
    if wanted.audit_file is None and wanted.audit_topic is None:
        return None
    audit = Audit(world.clock)
    if wanted.audit_file is not None:
        worker = world.workers.worker("klamm-audit")
        stack.push_async_callback(worker.close)
        audit.sinks.append(FileSink(world.disk.open(wanted.audit_file, create=True), worker).write)
    stack.push_async_callback(audit.close)
    return audit


class FileSink:
    def __init__(self, file: File, worker: Worker) -> None:
        self._file = file
        self._worker = worker

    async def write(self, lines: bytes) -> None:
        await self._worker.run(self._append, lines)

    def _append(self, lines: bytes) -> None:
        """At its end, wherever that is by now: somebody may have moved the file's content away."""
        self._file.pwrite(lines, self._file.size())
