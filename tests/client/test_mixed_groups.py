"""Our consumer and librdkafka's in one classic group: each understands what the other says about assignments."""

import asyncio
from dataclasses import replace

import pytest
from confluent_kafka import Consumer as ForeignConsumer

from client.conftest import admin_of
from klamm.client import Consumer, ConsumerSettings
from klamm.client.consumer.assignors.range import RangeAssignor
from klamm.client.consumer.assignors.round_robin import RoundRobinAssignor
from klamm.client.consumer.assignors.sticky import CooperativeStickyAssignor

pytestmark = pytest.mark.compat
ASSIGNORS = [RangeAssignor(), RoundRobinAssignor(), CooperativeStickyAssignor()]


@pytest.mark.parametrize("we_come_first", [True, False])
@pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda a: a.name)
async def test_members_of_both_kinds_share_the_partitions(
    klamm_address: str,
    name: str,
    assignor: RangeAssignor | RoundRobinAssignor | CooperativeStickyAssignor,
    we_come_first: bool,
) -> None:
    async with admin_of(klamm_address) as admin:
        await admin.topics.create(name, partitions=6, replication_factor=1)
    settings = replace(
        ConsumerSettings(group_id=name, heartbeat_interval_ms=100), assignors=[assignor]
    )
    foreign = ForeignConsumer(
        {
            "bootstrap.servers": klamm_address,
            "group.id": name,
            "partition.assignment.strategy": assignor.name,
            "heartbeat.interval.ms": 100,
        }
    )

    async with Consumer(klamm_address, settings) as ours:
        order = [ours, foreign] if we_come_first else [foreign, ours]
        for joined, consumer in enumerate(order, start=1):
            subscribed = consumer.subscribe([name])
            if subscribed is not None:
                await subscribed
            in_group = order[:joined]
            while True:
                if ours in in_group:
                    await ours.poll(timeout_ms=50)
                if foreign in in_group:
                    await asyncio.to_thread(foreign.poll, 0.05)
                theirs = {p.partition for p in foreign.assignment()}
                own = {p.partition for p in ours.assignment()}
                is_shared = not theirs & own and theirs | own == set(range(6))
                if is_shared and (joined == 1 or len(theirs) == len(own) == 3):
                    break
        await asyncio.to_thread(foreign.close)
        while len(ours.assignment()) < 6:
            await ours.poll(timeout_ms=50)
