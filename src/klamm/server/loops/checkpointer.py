"""Writing checkpoint files: one thread for all of them, in the order in which their content was decided.

Two writers of one file would take each other's temporary file away, and the older content might win.
"""

from __future__ import annotations

from collections.abc import Sequence

from klamm.log.disk import File
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

    async def sync(self, files: Sequence[File], checkpoints: Sequence[Checkpoint]) -> None:
        """Files that were cut, and what is written down of them then."""
        await self._worker.run(_sync, files, checkpoints)

    def settle(self) -> None:
        """The loop waits until all that was asked for is written."""
        self._worker.run_now(lambda: None)

    async def close(self) -> None:
        """Returns when all that was asked for is written."""
        await self._worker.close()


def _sync(files: Sequence[File], checkpoints: Sequence[Checkpoint]) -> None:
    for file in files:
        file.fsync()
    for checkpoint in checkpoints:
        checkpoint.write()
