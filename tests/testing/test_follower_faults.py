"""Random deaths, power failures and cuts, with writes in between: in the end all replicas are equal, and nothing is lost.

Acknowledged by all in-sync replicas, of which there must be two: then one machine at a time may lose what it did not sync.
"""

from contextlib import suppress
from random import Random

import pytest

from klamm.base.errors import ApiError
from klamm.client import Admin, Producer, ProducerSettings
from klamm.client.producer.settings import ALL
from klamm.protocol.records.batch import batches
from klamm.protocol.records.reader import read_records
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation
from testing.test_followers import committed_bytes, replica

SETTINGS = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "min.insync.replicas": 2,
    "log.segment.bytes": 1 << 20,
}
ROUNDS = 6


class Story:
    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._written = 0
        # Of some, segments are full after six records: then cuts go through several.
        self._padding = b"x" * (150_000 if seed % 2 else 10)
        self.acknowledged: list[bytes] = []
        self.cluster = SimulatedCluster(Simulation(seed), nodes=3, settings=SETTINGS)

    async def run(self) -> None:
        cluster, chance = self.cluster, self._chance
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.topics.create("topic", partitions=1, replication_factor=3)
        for _ in range(ROUNDS):
            await self._write(chance.randrange(1, 8), ALL)
            await self._write(chance.randrange(0, 8), 1)
            victim = self._hurt()
            await self._write(chance.randrange(1, 8), 1)
            await self._write(chance.randrange(1, 5), ALL)
            await self._pass(chance.random() * 8)
            if chance.random() < 0.7:
                cluster.simulation.network.heal()
                if chance.random() < 0.4 and len(cluster.living) == 3:
                    # Perhaps in the middle of cutting what the others do not have.
                    await self._pass(chance.random() ** 3)
                    cluster.power_off(victim)
                await self._start_all()
        cluster.simulation.network.heal()
        await self._start_all()
        await cluster.until(self._is_settled, 90)

    async def _pass(self, seconds: float) -> None:
        """Virtual time."""
        with suppress(TimeoutError):
            await self.cluster.until(lambda: False, seconds)

    def _hurt(self) -> int:
        cluster = self.cluster
        victim = self._chance.choice(cluster.ids)
        name = cluster.name_of(victim)
        others = [cluster.name_of(each) for each in cluster.ids if each != victim]
        match self._chance.choice(["kill", "power", "cut", "cut off", "nothing"]):
            case "kill" if len(cluster.living) == 3:
                cluster.kill(victim)
            case "power" if len(cluster.living) == 3:
                cluster.power_off(victim)
            case "cut":
                cluster.simulation.network.cut([name], others)
            case "cut off":
                cluster.simulation.network.cut([name], [*others, "client"])
        return victim

    async def _start_all(self) -> None:
        for each in self.cluster.ids:
            if not self.cluster.is_up(each):
                await self.cluster.start(each)

    async def _write(self, count: int, acks: int) -> None:
        settings = ProducerSettings(
            acks=acks, idempotence=acks == ALL, delivery_timeout_ms=3000, request_timeout_ms=1500
        )
        cluster = self.cluster
        with suppress(ApiError, TimeoutError, OSError):
            async with Producer(
                cluster.bootstrap, settings, environment=cluster.environment
            ) as producer:
                for _ in range(count):
                    self._written += 1
                    value = b"%d by %d " % (self._written, acks) + self._padding
                    with suppress(ApiError, TimeoutError):
                        await producer.send_and_wait("topic", value, partition=0)
                        if acks == ALL:
                            self.acknowledged.append(value)

    def _is_settled(self) -> bool:
        replicas = [replica(self.cluster, each) for each in self.cluster.ids]
        return len({end for p in replicas for end in (p.log.end_offset, p.high_watermark)}) == 1


@pytest.mark.parametrize("seed", range(8))
def test_replicas_are_equal_in_the_end_and_nothing_acknowledged_is_lost(seed: int) -> None:
    story = Story(seed)

    story.cluster.run(story.run)

    copies = {committed_bytes(story.cluster, each) for each in story.cluster.ids}
    assert len(copies) == 1
    kept = {
        bytes(record.value or b"")
        for _, batch in batches(copies.pop())
        for record in read_records(batch)
    }
    assert [value[:20] for value in story.acknowledged if value not in kept] == []
    epochs = {replica(story.cluster, each).log.epochs.entries for each in story.cluster.ids}
    assert len(epochs) == 1
    assert not story.cluster.simulation.loop.complaints
