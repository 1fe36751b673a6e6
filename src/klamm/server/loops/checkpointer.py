"""Writing checkpoint files: one thread for all of them, in the order in which their content was decided.

Two writers of one file would take each other's temporary file away, and the older content might win.
"""

from __future__ import annotations

from klamm.server.world.ports import Workers
from klamm.storage.log_directories import Checkpoint


class Checkpointer:
    """OSError when the disk failed: the caller takes the directory offline."""

    def __init__(self, workers: Workers) -> None:
        self._worker = workers.worker("klamm-checkpoint")

    async def write(self, checkpoint: Checkpoint) -> None:
        await self._worker.run(checkpoint.write)

    def write_now(self, checkpoint: Checkpoint) -> None:
        """Where nothing may happen before it is written. Rare: the loop waits for the disk."""
        self._worker.run_now(checkpoint.write)

    async def close(self) -> None:
        """Returns when all that was asked for is written."""
        await self._worker.close()
