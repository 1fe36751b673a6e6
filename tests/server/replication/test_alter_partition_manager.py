"""AlterPartitionManager: no wish about an ISR is forgotten, whenever it comes up."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from klamm.server.broker import Broker
from klamm.server.replication.alter_partition_manager import AlterPartitionManager
from replication.leading import EPOCHS, LAG_MS, OTHER, THIRD, US, a_leader, fetch


class AgreeableController:
    """Changes every ISR as its leader likes, and keeps what it was asked."""

    def __init__(self) -> None:
        self.isrs: list[list[int]] = []

    async def ask(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        (topic,) = request.topics
        (wish,) = topic.partitions
        self.isrs.append(wish.new_isr)
        changed = AlterPartitionResponsePartitionData(
            partition_index=wish.partition_index,
            leader_id=US,
            leader_epoch=wish.leader_epoch,
            isr=wish.new_isr,
            partition_epoch=wish.partition_epoch + 1,
        )
        data = AlterPartitionResponseTopicData(topic_id=topic.topic_id, partitions=[changed])
        return AlterPartitionResponse(topics=[data])


def a_manager(controller: AgreeableController) -> AlterPartitionManager:
    facts: dict[str, Any] = {
        "settings": SimpleNamespace(replication=SimpleNamespace(lag_time_max_ms=LAG_MS)),
        "controller": controller,
        "clock": SimpleNamespace(monotonic=lambda: 0),
        "quorum": SimpleNamespace(broker_epoch=EPOCHS[US]),
        "node_id": US,
        "committed": lambda partition: None,
    }
    return AlterPartitionManager(cast(Broker, SimpleNamespace(**facts)))


def test_a_follower_that_catches_up_in_the_moment_after_another_was_let_in_is_let_in() -> None:
    controller = AgreeableController()

    async def work() -> None:
        manager = a_manager(controller)
        partition = a_leader(isr=(US,))
        fetch(partition, OTHER, 0)
        manager.submit(partition)
        # The turn in which the answer is taken is the last one of whoever sent the wish.
        while partition.isr != (US, OTHER):
            await asyncio.sleep(0)
        fetch(partition, THIRD, 0)
        manager.submit(partition)
        async with asyncio.timeout(10):
            while partition.isr != (US, OTHER, THIRD):
                await asyncio.sleep(0)
        await manager.close()

    asyncio.run(work())

    assert controller.isrs == [[US, OTHER], [US, OTHER, THIRD]]
