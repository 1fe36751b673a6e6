"""Producer ids for idempotent and transactional producers: the controller gives them out in blocks, the broker one by one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)


class ProducerIds:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._block = range(0)
        self._refill = asyncio.Lock()

    @property
    def is_empty(self) -> bool:
        return not self._block

    def take(self) -> int | None:
        """The next id of the block at hand, or None when the block is used up."""
        if not self._block:
            return None
        taken, self._block = self._block[0], self._block[1:]
        return taken

    async def refill(self) -> None:
        """Makes sure that there is one to take; of many who ask at once only one asks the controller."""
        async with self._refill:
            while not self._block:
                self._block = await self._allocate()

    async def _allocate(self) -> range:
        """A block of ids that nobody else has."""
        broker = self._broker
        request = AllocateProducerIdsRequest(
            broker_id=broker.node_id, broker_epoch=broker.quorum.broker_epoch
        )
        try:
            block = await broker.controller.ask(request)
        except ApiError as e:
            log.warning("the controller gives out no producer ids: %s", e)
            raise _come_again() from e
        if block.error_code:
            log.warning("the controller gives out no producer ids: %s", code_of(block.error_code))
            raise _come_again()
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    async def fetch(self) -> int:
        """The next id, from a new block if need be."""
        while (taken := self.take()) is None:
            await self.refill()
        return taken


def _come_again() -> ApiError:
    """Kafka's word for it: clients try again."""
    return ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
