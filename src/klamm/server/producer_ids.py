"""Producer ids for idempotent producers: the controller gives them out in blocks, the broker one by one."""

from __future__ import annotations

import asyncio

from klamm.server.loops.quorum_loop import MetadataQuorum


class ProducerIds:
    def __init__(self, quorum: MetadataQuorum) -> None:
        self._quorum = quorum
        self._block = iter(range(0))
        self._refill = asyncio.Lock()

    def take(self) -> int | None:
        """The next id of the block at hand, or None when the block is used up."""
        return next(self._block, None)

    async def fetch(self) -> int:
        """The next id, from a new block if need be; of many who ask at once only one asks the controller."""
        async with self._refill:
            while (taken := self.take()) is None:
                self._block = iter(await self._quorum.allocate_producer_ids())
            return taken
