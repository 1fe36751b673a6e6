"""What all who play in a scenario share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from klamm.base.ids import TopicPartition
from klamm.client.environment import Environment
from klamm.testing.history import History, Outcome, Sent, Transaction
from klamm.testing.world import Simulation

# Who gives up early learns less, and who never gives up keeps a scenario from ending.
PATIENCE_MS = 60_000


@dataclass(slots=True)
class Stage:
    simulation: Simulation
    bootstrap: str
    history: History = field(default_factory=History)
    # Topic -> how many partitions may be written to and read.
    topics: dict[str, int] = field(default_factory=dict)
    # So many keys in topics that are compacted.
    keys: int = 8
    # Of transactions: how long they may take.
    transaction_ms: tuple[int, ...] = (10_000, 60_000)
    # Nothing goes wrong any more, so nobody comes or goes either.
    is_calm: bool = False
    is_over: bool = False
    _awake: asyncio.Event = field(default_factory=asyncio.Event)
    _values: int = 0

    def __post_init__(self) -> None:
        self._awake.set()

    def now(self) -> float:
        return self.simulation.loop.time()

    def sleep(self) -> None:
        """Everybody pauses before the next thing that it does."""
        self._awake.clear()

    def wake(self) -> None:
        self._awake.set()

    async def breathe(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._awake.wait()

    def enters(self, name: str) -> Environment:
        """A client program on a machine of its own."""
        return self.simulation.machine(name).environment()

    def runs(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        process = self.simulation.machine(name).process
        assert process is not None
        return self.simulation.loop.spawn(process, work)

    def places(self, *topics: str) -> list[TopicPartition]:
        return [TopicPartition(name, n) for name in topics for n in range(self.topics[name])]

    def any_place(self, rng: Random, topics: Callable[[str], bool]) -> TopicPartition:
        name = rng.choice([name for name in self.topics if topics(name)])
        return TopicPartition(name, rng.randrange(self.topics[name]))

    def new_record(
        self, rng: Random, producer: str, place: TopicPartition, part_of: Transaction | None = None
    ) -> Sent:
        self._values += 1
        self.history.operations += 1
        key = b"key-%d" % rng.randrange(self.keys)
        padding = b"." * rng.choice((0, 0, 50, 400))
        value: bytes | None = b"%d of %s to %s%s" % (
            self._values,
            producer.encode(),
            str(place).encode(),
            padding,
        )
        if place.topic == "compact" and part_of is None and rng.random() < 0.1:
            value = None
        sent = Sent(producer, place, key, value, self.now(), part_of)
        self.history.sent.append(sent)
        if part_of is not None:
            part_of.sent.append(sent)
        return sent

    def hears(self, sent: Sent, delivery: asyncio.Future[Any]) -> None:
        """What became of it, as soon as the client knows."""
        sent.ended = self.now()
        if delivery.cancelled() or delivery.exception() is not None:
            return
        sent.outcome = Outcome.DONE
        sent.offset = delivery.result().offset
