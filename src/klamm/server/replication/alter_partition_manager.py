"""AlterPartitionManager: carries the leaders' wishes about their ISRs to the controller, and the answers back.

One request at a time, with all that was wished meanwhile; each partition has at most one wish under way (isr.py).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    BrokerState,
)
from klamm.replication.isr import IsrProposal
from klamm.replication.partition import Partition

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.05
_CODES = {code.value: code for code in ErrorCode}

Wish = tuple[Partition, IsrProposal]


class AlterPartitionManager:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._lag_ms = broker.settings.replication.lag_time_max_ms
        # To be sent, by topic id and index.
        self._wishes: dict[tuple[Uuid, int], Wish] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._sending: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._look_after()))

    async def close(self) -> None:
        if self._sending is not None:
            self._tasks.append(self._sending)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look_after(self) -> None:
        """Followers that fall behind send nothing that would tell us so."""
        while True:
            await asyncio.sleep(self._lag_ms / 2000)
            for partition in list(self._broker.replicas):
                if partition.leadership is not None:
                    self.submit(partition)

    def submit(self, partition: Partition) -> None:
        """Propose what the partition wishes, if it does."""
        proposal = partition.isr_changes(
            self._broker.clock.monotonic(), self._broker.quorum.broker_epoch
        )
        if proposal is None:
            return
        log.debug(
            "an ISR is to change: partition=%s isr=%s wished=%s",
            partition.name,
            partition.isr,
            proposal.isr,
        )
        self._wishes[partition.topic_id, partition.name.partition] = partition, proposal
        if self._sending is None:
            self._begin()

    def _begin(self) -> None:
        self._sending = asyncio.get_running_loop().create_task(self._send())
        self._sending.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("wishes about ISRs were not sent", exc_info=error)
        # The task had ended already, and this was not called yet: somebody wished in between.
        if self._wishes:
            self._begin()

    async def _send(self) -> None:
        while self._wishes:
            wishes, self._wishes = self._wishes, {}
            log.info("ISRs are to change: count=%d, %s", len(wishes), _in_words(wishes))
            try:
                response = await self._broker.controller.ask(self._request(wishes))
                if response.error_code:
                    raise ApiError(_CODES.get(response.error_code, ErrorCode.UNKNOWN_SERVER_ERROR))
            except ApiError as e:
                log.info("the controller does not change ISRs now: reason=%s", e)
                again = wishes
            else:
                again = self._take(wishes, response)
            if again:
                await asyncio.sleep(_RETRY_SECONDS)
                # A wish that new metadata made pointless is not pending any more.
                for key, (partition, proposal) in again.items():
                    if partition.leadership and partition.leadership.isr.pending is proposal:
                        self._wishes.setdefault(key, (partition, proposal))

    def _request(self, wishes: dict[tuple[Uuid, int], Wish]) -> AlterPartitionRequest:
        topics: dict[Uuid, AlterPartitionRequestTopicData] = {}
        for (topic_id, index), (_, proposal) in wishes.items():
            topic = topics.setdefault(topic_id, AlterPartitionRequestTopicData(topic_id=topic_id))
            topic.partitions.append(
                AlterPartitionRequestPartitionData(
                    partition_index=index,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr=list(proposal.isr),
                    new_isr_with_epochs=[
                        BrokerState(broker_id=each.broker_id, broker_epoch=each.broker_epoch)
                        for each in proposal.members
                    ],
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker.node_id,
            broker_epoch=self._broker.quorum.broker_epoch,
            topics=list(topics.values()),
        )

    def _take(
        self, wishes: dict[tuple[Uuid, int], Wish], response: AlterPartitionResponse
    ) -> dict[tuple[Uuid, int], Wish]:
        """Returns what is to be sent again."""
        left = dict(wishes)
        again: dict[tuple[Uuid, int], Wish] = {}
        for topic in response.topics:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                wish = left.pop(key, None)
                if wish is None:
                    continue
                partition, proposal = wish
                code = _CODES.get(data.error_code, ErrorCode.UNKNOWN_SERVER_ERROR)
                if code is not ErrorCode.NONE:
                    log.info(
                        "an ISR was not changed: partition=%s reason=%s", partition.name, code.name
                    )
                    if partition.isr_refused(proposal, code):
                        again[key] = wish
                    continue
                is_risen = partition.isr_accepted(
                    proposal,
                    tuple(data.isr),
                    leader_epoch=data.leader_epoch,
                    partition_epoch=data.partition_epoch,
                )
                if is_risen:
                    self._broker.committed(partition)
                # Others may have fallen behind or caught up meanwhile.
                self.submit(partition)
        return left | again


def _in_words(wishes: dict[tuple[Uuid, int], Wish]) -> str:
    """The first of them."""
    partition, proposal = next(iter(wishes.values()))
    return f"first={partition.name} isr={partition.isr} wished={proposal.isr}"
