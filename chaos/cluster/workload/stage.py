"""What clients share: the cluster, the history, and gates at which they rest while somebody looks."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from chaos.cluster.checker.history import History
from klamm.base.ids import TopicPartition

# Long enough for what a cycle does to a cluster; what takes longer has an unknown outcome.
DELIVERY_MS = 60_000
TRANSACTION_MS = 30_000
REQUEST_MS = 5_000
SESSION_MS = 6_000
# A member that does not come back for more loses its partitions.
MAX_POLL_MS = 30_000


class Over(Exception):
    """The run has ended: nobody needs to go on."""


class Gate:
    """Clients pass it between two operations. Closed, it holds them, and knows who rests."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._is_over = False
        self.resting: set[str] = set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def end(self) -> None:
        self._is_over = True
        self._open.set()

    @property
    def is_closed(self) -> bool:
        return not self._open.is_set()

    @property
    def is_over(self) -> bool:
        return self._is_over

    def pass_through(self, name: str) -> None:
        if self.is_closed:
            self.resting.add(name)
            self._open.wait()
            self.resting.discard(name)
        if self._is_over:
            raise Over

    async def come_through(self, name: str) -> None:
        while self.is_closed:
            self.resting.add(name)
            await asyncio.sleep(0.02)
        self.resting.discard(name)
        if self._is_over:
            raise Over


@dataclass
class Stage:
    """`topics` has the number of partitions of each; those in `shared` are read by groups, `source` is copied to `target`."""

    bootstrap: str
    topics: dict[str, int]
    shared: tuple[str, ...]
    source: str
    target: str
    seed: int
    history: History = field(default_factory=History)
    writers: Gate = field(default_factory=Gate)
    readers: Gate = field(default_factory=Gate)
    # Foreign clients that never came back from a call, and in which.
    stuck_clients: list[str] = field(default_factory=list)
    # What no client should meet: it ends the run.
    troubles: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.readers.is_over

    def now(self) -> float:
        return time.monotonic()

    def random(self, name: str) -> Random:
        return Random(f"{self.seed} {name}")

    def places(self, *topics: str) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number)
            for topic in topics or tuple(self.topics)
            for number in range(self.topics[topic])
        ]

    def guard(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Over:
            pass
        except Exception:  # noqa: BLE001
            self.troubles.append(f"{name}: {traceback.format_exc()}")
