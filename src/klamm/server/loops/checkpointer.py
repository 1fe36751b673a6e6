"""Writing checkpoint files: one thread for all of them, in the order in which their content was decided.

Two writers of one file would take each other's temporary file away, and the older content might win.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from klamm.replication.log_directories import Checkpoint


class Checkpointer:
    """OSError when the disk failed: the caller takes the directory offline."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="klamm-checkpoint")

    async def write(self, checkpoint: Checkpoint) -> None:
        await asyncio.get_running_loop().run_in_executor(self._worker, checkpoint.write)

    def write_now(self, checkpoint: Checkpoint) -> None:
        """Where nothing may happen before it is written. Rare: the loop waits for the disk."""
        self._worker.submit(checkpoint.write).result()

    async def close(self) -> None:
        """Returns when all that was asked for is written."""
        await asyncio.get_running_loop().run_in_executor(None, self._worker.shutdown)
