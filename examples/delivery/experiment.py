"""The experiment: orders go in, a consumer serves them through many deaths, and what came out is counted."""

import asyncio
import os
import random
from collections import Counter
from dataclasses import dataclass
from enum import Enum

from examples.delivery.job import END, Job, Point, transform
from examples.delivery.killing import Kill, live, plan
from klamm.base.ids import TopicPartition
from klamm.client import Admin, Consumer, ConsumerSettings, Producer

# So many that no consumer is through before its last killing.
_ORDERS_PER_KILL = 12
_MORE_ORDERS = 30

CLIENTS = {"confluent-kafka": "with_confluent", "klamm.client": "with_klamm"}


class Semantics(Enum):
    AT_MOST_ONCE = "at most once"
    AT_LEAST_ONCE = "at least once"
    EXACTLY_ONCE = "exactly once"

    @property
    def points(self) -> tuple[Point, ...]:
        """Where to kill a consumer to see what it is worth."""
        return _POINTS[self]

    @property
    def may_lose(self) -> bool:
        return self is Semantics.AT_MOST_ONCE

    @property
    def may_repeat(self) -> bool:
        return self is Semantics.AT_LEAST_ONCE


_POINTS = {
    Semantics.AT_MOST_ONCE: (Point.COMMITTED,),
    Semantics.AT_LEAST_ONCE: (Point.PRODUCED,),
    Semantics.EXACTLY_ONCE: (Point.IN_TRANSACTION, Point.WITH_OFFSET, Point.TRANSACTION_DONE),
}


@dataclass(frozen=True, slots=True)
class Tally:
    semantics: Semantics
    client: str
    orders: int
    killed: tuple[Kill, ...]
    lost: int
    # Copies beyond the first.
    repeated: int
    # Records in the log that belong to transactions which did not commit: read_committed hides them.
    hidden: int

    def killed_at(self, point: Point | None) -> int:
        return sum(kill.point is point for kill in self.killed)

    @property
    def is_as_promised(self) -> bool:
        return not (
            (self.lost and not self.semantics.may_lose)
            or (self.repeated and not self.semantics.may_repeat)
        )


async def run_all(bootstrap: str, *, kills: int, seed: int) -> list[Tally]:
    """All six at the same time: they have nothing to do with each other."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_one(bootstrap, semantics, client, kills=kills, seed=seed))
            for semantics in Semantics
            for client in CLIENTS
        ]
    return [task.result() for task in tasks]


async def run_one(
    bootstrap: str, semantics: Semantics, client: str, *, kills: int, seed: int
) -> Tally:
    step = semantics.name.lower()
    name = f"delivery-{step}-{CLIENTS[client]}-{os.getpid()}"
    job = Job(bootstrap, source=f"{name}-orders", target=f"{name}-served", name=name)
    orders = kills * _ORDERS_PER_KILL + _MORE_ORDERS
    await _prepare(job, orders)
    module = f"examples.delivery.{CLIENTS[client]}.{step}"
    killed = []
    for kill in plan(semantics.points, kills, random.Random(f"{seed} {name}")):
        if await live(module, job, kill):
            killed.append(kill)
    await live(module, job, None)
    served, hidden = await _read(job)
    return Tally(
        semantics,
        client,
        orders,
        tuple(killed),
        lost=orders - len(served),
        repeated=served.total() - len(served),
        hidden=hidden,
    )


async def _prepare(job: Job, orders: int) -> None:
    async with Admin(job.bootstrap) as admin:
        for topic in (job.source, job.target):
            await admin.topics.create(topic, partitions=1, replication_factor=1)
    async with Producer(job.bootstrap) as producer:
        for number in range(orders):
            await producer.send(job.source, b"%d" % number)
        await producer.send(job.source, END)


async def _read(job: Job) -> tuple[Counter[int], int]:
    """How often each order was served, and how many records nobody is to see."""
    partition = TopicPartition(job.target, 0)
    everything = await _values(job.bootstrap, partition, read_committed=False)
    committed = await _values(job.bootstrap, partition, read_committed=True)
    served = Counter(int(value.removeprefix(transform(b""))) for value in committed)
    return served, len(everything) - len(committed)


async def _values(
    bootstrap: str, partition: TopicPartition, *, read_committed: bool
) -> list[bytes]:
    settings = ConsumerSettings(auto_offset_reset="earliest", read_committed=read_committed)
    values: list[bytes] = []
    async with Consumer(bootstrap) as anyone:
        end = (await anyone.end_offsets([partition]))[partition]
    async with Consumer(bootstrap, settings) as consumer:
        consumer.assign([partition])
        # To the very end: markers of transactions that have just ended are waited for.
        while await consumer.position(partition) < end:
            values += [record.value or b"" for record in await consumer.poll(timeout_ms=50)]
    return values
