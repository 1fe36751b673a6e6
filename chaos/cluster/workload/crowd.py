"""All clients of a run: those of confluent-kafka in threads of their own, klamm's on one loop."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Sequence
from typing import Any

from chaos.cluster.workload import confluent_readers, confluent_writers, klamm_readers
from chaos.cluster.workload import klamm_writers as ours
from chaos.cluster.workload.copiers import ConfluentCopier, KlammCopier
from chaos.cluster.workload.stage import Over, Stage

CLASSIC, SERVER_SIDE = "classic-group", "consumer-group"


class Crowd:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        written = tuple(topic for topic in stage.topics if topic != stage.target)
        self._threads: list[Any] = [
            confluent_writers.IdempotentWriter(stage, "c-idempotent", written),
            confluent_writers.TransactionalWriter(stage, "c-transactional", written),
            confluent_readers.Reader(stage, "c-committed", is_committed=True),
            confluent_readers.Reader(stage, "c-uncommitted", is_committed=False),
            confluent_readers.Member(stage, "c-classic", CLASSIC, "classic"),
            confluent_readers.Member(stage, "c-server-side", SERVER_SIDE, "consumer"),
            ConfluentCopier(stage, "c-copier"),
        ]
        self._tasks: list[Any] = [
            ours.IdempotentWriter(stage, "k-idempotent", written),
            ours.TransactionalWriter(stage, "k-transactional", written),
            klamm_readers.Reader(stage, "k-committed", is_committed=True),
            klamm_readers.Reader(stage, "k-uncommitted", is_committed=False),
            *(klamm_readers.Member(stage, f"k-classic-{n}", CLASSIC, "classic") for n in "ab"),
            *(klamm_readers.Member(stage, f"k-server-{n}", SERVER_SIDE, "consumer") for n in "ab"),
            KlammCopier(stage, "k-copier"),
        ]
        self._running = [
            threading.Thread(
                target=stage.guard, args=(each.name, each.run), name=each.name, daemon=True
            )
            for each in self._threads
        ]
        self._running.append(
            threading.Thread(
                target=stage.guard, args=("loop", self._run_loop), name="loop", daemon=True
            )
        )

    @property
    def writers(self) -> Sequence[str]:
        return [each.name for each in (*self._threads[:2], *self._tasks[:2])]

    @property
    def readers(self) -> Sequence[str]:
        return [each.name for each in (*self._threads[2:], *self._tasks[2:])]

    def start(self) -> None:
        for each in self._running:
            each.start()

    def end(self, seconds: float) -> list[str]:
        """Gives the names of those who did not come to an end."""
        self._stage.writers.end()
        self._stage.readers.end()
        for each in self._running:
            each.join(seconds)
        return [each.name for each in self._running if each.is_alive()]

    def _run_loop(self) -> None:
        asyncio.run(self._run_tasks())

    async def _run_tasks(self) -> None:
        await asyncio.gather(*(self._guarded(each) for each in self._tasks))

    async def _guarded(self, client: Any) -> None:
        try:
            await client.run()
        except Over:
            pass
        except Exception:  # noqa: BLE001
            self._stage.troubles.append(f"{client.name}: {traceback.format_exc()}")
