"""Readers with klamm's own client: alone, and as members of groups of both protocols."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Literal

from chaos.cluster.checker.history import Commit, Outcome, Ownership, Poll
from chaos.cluster.workload.klamm_writers import Bytes, reader_settings, records_of
from chaos.cluster.workload.stage import SESSION_MS, Stage
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import CommittedOffset, Consumer, ConsumerSettings, RebalanceListener
from klamm.client.consumer.assignors.range import RangeAssignor

Protocol = Literal["classic", "consumer"]


class Reader:
    def __init__(self, stage: Stage, name: str, *, is_committed: bool) -> None:
        self.name = name
        self._stage = stage
        self._is_committed = is_committed
        self._sessions = 0

    async def run(self) -> None:
        stage = self._stage
        while not stage.is_over:
            self._sessions += 1
            settings = reader_settings(is_committed=self._is_committed)
            with suppress(ApiError):
                async with Consumer(stage.bootstrap, settings) as consumer:
                    consumer.assign(stage.places())
                    await self._read(consumer)

    async def _read(self, consumer: Consumer[Bytes, Bytes]) -> None:
        stage = self._stage
        while True:
            await stage.readers.come_through(self.name)
            invoked = stage.now()
            found = records_of(await consumer.poll(timeout_ms=200))
            stage.history.polls.append(
                Poll(
                    process=self.name,
                    session=self._sessions,
                    is_committed=self._is_committed,
                    invoked=invoked,
                    completed=stage.now(),
                    records=found,
                )
            )


class Member:
    def __init__(self, stage: Stage, name: str, group: str, protocol: Protocol) -> None:
        self.name = name
        self._stage = stage
        self._group = group
        self._protocol: Protocol = protocol
        self._rng = stage.random(name)
        self._lives = 0

    async def run(self) -> None:
        stage = self._stage
        while not stage.is_over:
            self._lives += 1
            member = f"{self.name}.{self._lives}"
            consumer = Consumer(stage.bootstrap, member_settings(self._group, self._protocol))
            with suppress(ApiError):
                async with consumer:
                    owned = Owned(stage, self._group, member, consumer, self._protocol)
                    await consumer.subscribe(stage.shared, listener=owned)
                    await self._live(consumer, owned, self._rng.uniform(3, 20))

    async def _live(self, consumer: Consumer[Bytes, Bytes], owned: Owned, seconds: float) -> None:
        stage = self._stage
        end = stage.now() + seconds
        while stage.now() < end:
            await stage.readers.come_through(self.name)
            invoked = stage.now()
            found = records_of(await consumer.poll(timeout_ms=200, max_records=200))
            stage.history.polls.append(
                Poll(
                    process=owned.member,
                    session=owned.session,
                    is_committed=True,
                    invoked=invoked,
                    completed=stage.now(),
                    records=found,
                    group=self._group,
                )
            )
            ends = {place: offset + 1 for place, offset, _ in found}
            if ends:
                await self._commit(consumer, owned, ends)

    async def _commit(
        self, consumer: Consumer[Bytes, Bytes], owned: Owned, ends: dict[TopicPartition, int]
    ) -> None:
        stage = self._stage
        commits = [
            Commit(
                group=self._group,
                member=owned.member,
                place=place,
                offset=offset,
                generation=owned.generation,
                invoked=stage.now(),
            )
            for place, offset in ends.items()
        ]
        stage.history.commits += commits
        try:
            await consumer.commit({p: CommittedOffset(offset) for p, offset in ends.items()})
        except ApiError:
            # It may have been the last thing that its coordinator did. The next poll tells whether we are still a member.
            return
        for commit in commits:
            commit.outcome, commit.completed = Outcome.OK, stage.now()


class Owned(RebalanceListener):
    """Writes down what a member was given, and until when."""

    def __init__(
        self,
        stage: Stage,
        group: str,
        member: str,
        consumer: Consumer[Bytes, Bytes],
        protocol: Protocol,
    ) -> None:
        self._stage, self._group, self.member = stage, group, member
        self._consumer, self._protocol = consumer, protocol
        self.session = 0
        self._owned: dict[TopicPartition, Ownership] = {}

    @property
    def generation(self) -> int | None:
        """Members of the newer protocol have epochs of their own."""
        if self._protocol == "consumer":
            return None
        return self._consumer.group_metadata().generation_id

    async def on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.session += 1
        for place in partitions:
            self._owned[place] = Ownership(
                group=self._group,
                member=self.member,
                place=place,
                since=self._stage.now(),
                generation=self.generation,
            )
            self._stage.history.ownerships.append(self._owned[place])

    async def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self._end(partitions)

    async def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self._end(partitions)

    def _end(self, partitions: Collection[TopicPartition]) -> None:
        self.session += 1
        for place in partitions:
            owned = self._owned.pop(place, None)
            if owned is not None:
                owned.until = self._stage.now()


def member_settings(group: str, protocol: Protocol) -> ConsumerSettings:
    return reader_settings(
        is_committed=True,
        group_id=group,
        group_protocol=protocol,
        assignors=(RangeAssignor(),),
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=SESSION_MS // 6,
    )
