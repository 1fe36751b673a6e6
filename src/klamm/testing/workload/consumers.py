"""Consumers: members of groups that come and go, and readers who look at everything from the beginning."""

from __future__ import annotations

import asyncio
from typing import Literal

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import CommittedOffset, Consumer, ConsumerRecord, ConsumerSettings
from klamm.client.consumer.assignors.range import RangeAssignor
from klamm.testing.history import Commit, Outcome, Read
from klamm.testing.workload.stage import PATIENCE_MS, Stage

Protocol = Literal["classic", "consumer"]


class Member:
    """Of a group that reads `plain` and `short`. It stays for a while, leaves or vanishes, and comes again."""

    def __init__(self, stage: Stage, name: str, group: str, protocol: Protocol) -> None:
        self._stage = stage
        self.name = name
        self.group = group
        # What it was last seen to own.
        self.owned: frozenset[TopicPartition] = frozenset()
        self._protocol: Protocol = protocol
        self._rng = stage.simulation.random(name)
        self._lives = 0

    async def run(self) -> None:
        stage, rng = self._stage, self._rng
        while not stage.is_over:
            self._lives += 1
            machine = f"{self.name}.{self._lives}"
            environment = stage.enters(machine)
            settings = ConsumerSettings(
                client_id=machine,
                group_id=self.group,
                group_protocol=self._protocol,
                assignors=(RangeAssignor(),),
                session_timeout_ms=10_000,
                heartbeat_interval_ms=2_000,
                auto_commit=False,
                auto_offset_reset="earliest",
                read_committed=True,
                api_timeout_ms=PATIENCE_MS,
                max_poll_records=20,
                fetch_max_wait_ms=2_000,
                metadata_max_age_ms=20_000,
                # Who asks to join and hears nothing waits for so long, as with a coordinator whose power is gone.
                max_poll_interval_ms=20_000,
            )
            consumer: Consumer[bytes | None, bytes | None] = Consumer(
                stage.bootstrap, settings, environment=environment
            )
            life = stage.runs(machine, self._live(consumer, machine))
            await asyncio.wait([life], timeout=rng.expovariate(1 / 80))
            await stage.breathe(0)
            while stage.is_calm and not stage.is_over and not life.done():
                await stage.breathe(1)
            if rng.random() < 0.3:
                stage.simulation.machine(machine).kill()
            else:
                self._leaving = machine
                await _done(life, stage)

    _leaving = ""

    async def _live(self, consumer: Consumer[bytes | None, bytes | None], machine: str) -> None:
        stage, rng = self._stage, self._rng
        try:
            async with consumer:
                await consumer.subscribe(["plain", "short"])
                while not stage.is_over and self._leaving != machine:
                    records = await consumer.poll(timeout_ms=4_000)
                    self._note_assignment(consumer, machine)
                    ends: dict[TopicPartition, int] = {}
                    for record in records:
                        ends[record.topic_partition] = record.offset + 1
                        note_read(stage, machine, True, record.topic_partition, record)
                    if ends:
                        await self._commit(consumer, machine, ends)
                    await stage.breathe(rng.expovariate(2))
        except ApiError:
            pass

    def _note_assignment(
        self, consumer: Consumer[bytes | None, bytes | None], machine: str
    ) -> None:
        self.owned = consumer.assignment()
        if self._protocol == "classic":
            known = consumer.group_metadata()
            key = (self.group, known.generation_id, machine)
            self._stage.history.assignments.setdefault(key, consumer.assignment())

    async def _commit(
        self,
        consumer: Consumer[bytes | None, bytes | None],
        machine: str,
        ends: dict[TopicPartition, int],
    ) -> None:
        stage = self._stage
        generation = consumer.group_metadata().generation_id
        is_of_group = self._protocol == "classic"
        commits = [
            Commit(self.group, place, offset, machine, generation, is_of_group, stage.now())
            for place, offset in ends.items()
        ]
        stage.history.commits += commits
        stage.history.operations += 1
        await consumer.commit({place: CommittedOffset(offset) for place, offset in ends.items()})
        for commit in commits:
            commit.outcome, commit.ended = Outcome.DONE, stage.now()


class Reader:
    """Reads all there is, sometimes what is not committed as well."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._name = name
        self._rng = stage.simulation.random(name)
        self._sessions = 0

    async def run(self) -> None:
        stage, rng = self._stage, self._rng
        while not stage.is_over:
            is_committed = rng.random() < 0.6
            settings = ConsumerSettings(
                client_id=self._name,
                auto_offset_reset="earliest",
                read_committed=is_committed,
                api_timeout_ms=PATIENCE_MS,
                fetch_max_wait_ms=2_000,
                max_partition_fetch_bytes=rng.choice((500, 1 << 20)),
            )
            try:
                async with Consumer(
                    stage.bootstrap, settings, environment=stage.enters(self._name)
                ) as consumer:
                    await self._read(consumer, is_committed)
            except ApiError:
                pass
            self._sessions += 1
            await stage.breathe(rng.expovariate(1 / 5))

    async def _read(
        self, consumer: Consumer[bytes | None, bytes | None], is_committed: bool
    ) -> None:
        stage, rng = self._stage, self._rng
        name = rng.choice(list(stage.topics))
        consumer.assign([TopicPartition(name, index) for index in range(stage.topics[name])])
        for _ in range(rng.randint(2, 10)):
            if stage.is_over:
                return
            stage.history.operations += 1
            for record in await consumer.poll(timeout_ms=3_000):
                place = record.topic_partition
                note_read(stage, self._name, is_committed, place, record, self._sessions)
            await stage.breathe(rng.expovariate(5))


def note_read(
    stage: Stage,
    reader: str,
    is_committed: bool,
    place: TopicPartition,
    record: ConsumerRecord[bytes | None, bytes | None],
    session: int = -1,
) -> None:
    stage.history.reads.append(
        Read(reader, is_committed, place, record.offset, record.value, stage.now(), session)
    )


async def _done(life: asyncio.Task[None], stage: Stage) -> None:
    """It leaves when it has finished what it is at, or is taken for dead."""
    await asyncio.wait([life], timeout=2 * PATIENCE_MS / 1000)
