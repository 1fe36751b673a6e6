"""Readers with confluent-kafka: alone, and as members of groups of both protocols."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Partition

from chaos.cluster.checker.history import Commit, Outcome, Ownership, Poll
from chaos.cluster.workload.confluent_writers import COMMON, consume
from chaos.cluster.workload.stage import MAX_POLL_MS, SESSION_MS, Stage
from klamm.base.ids import TopicPartition


class Reader:
    """Everything from the first offset on, for as long as it goes on."""

    def __init__(self, stage: Stage, name: str, *, is_committed: bool) -> None:
        self.name = name
        self._stage = stage
        self._is_committed = is_committed

    def run(self) -> None:
        stage = self._stage
        reader = Consumer(
            {
                **COMMON,
                "bootstrap.servers": stage.bootstrap,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": isolation(self._is_committed),
                "fetch.wait.max.ms": 100,
            }
        )
        reader.assign([Partition(p.topic, p.partition, 0) for p in stage.places()])
        try:
            while True:
                stage.readers.pass_through(self.name)
                invoked = stage.now()
                found = consume(reader, 500, 0.2)
                stage.history.polls.append(
                    Poll(
                        process=self.name,
                        session=1,
                        is_committed=self._is_committed,
                        invoked=invoked,
                        completed=stage.now(),
                        records=found,
                    )
                )
        finally:
            reader.close()


class Member:
    """Joins, reads, commits, leaves after a while and comes again under another name."""

    def __init__(self, stage: Stage, name: str, group: str, protocol: str) -> None:
        self.name = name
        self._stage = stage
        self._group = group
        self._protocol = protocol
        self._rng = stage.random(name)
        self._lives = 0

    def run(self) -> None:
        while not self._stage.is_over:
            self._lives += 1
            _Life(self._stage, self.name, f"{self.name}.{self._lives}", self._group).live(
                group_consumer(self._stage, self._group, self._protocol),
                seconds=self._rng.uniform(3, 20),
            )


class _Life:
    def __init__(self, stage: Stage, name: str, member: str, group: str) -> None:
        self._stage, self._name, self._member, self._group = stage, name, member, group
        self._session = 0
        self._owned: dict[TopicPartition, Ownership] = {}

    def live(self, consumer: Consumer, *, seconds: float) -> None:
        stage = self._stage
        end = stage.now() + seconds
        consumer.subscribe(
            list(stage.shared), on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone
        )
        try:
            while stage.now() < end:
                stage.readers.pass_through(self._name)
                invoked = stage.now()
                found = consume(consumer, 200, 0.2)
                completed = stage.now()
                stage.history.polls.append(
                    Poll(
                        process=self._member,
                        session=self._session,
                        is_committed=True,
                        invoked=invoked,
                        completed=completed,
                        records=found,
                        group=self._group,
                    )
                )
                if found:
                    self._commit(consumer, found)
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer, found: list[Any]) -> None:
        stage = self._stage
        ends = {place: offset + 1 for place, offset, _ in found if place in self._owned}
        if not ends:
            return
        commits = [
            Commit(
                group=self._group,
                member=self._member,
                place=place,
                offset=offset,
                invoked=stage.now(),
            )
            for place, offset in ends.items()
        ]
        stage.history.commits += commits
        try:
            answers = consumer.commit(
                offsets=[Partition(p.topic, p.partition, o) for p, o in ends.items()],
                asynchronous=False,
            )
        except KafkaException:
            return
        good = {(each.topic, each.partition) for each in answers if each.error is None}
        for commit in commits:
            if (commit.place.topic, commit.place.partition) in good:
                commit.outcome, commit.completed = Outcome.OK, stage.now()

    def _assigned(self, _: Consumer, partitions: list[Partition]) -> None:
        self._session += 1
        for each in partitions:
            place = TopicPartition(each.topic, each.partition)
            self._owned[place] = Ownership(
                group=self._group, member=self._member, place=place, since=self._stage.now()
            )
            self._stage.history.ownerships.append(self._owned[place])

    def _gone(self, _: Consumer, partitions: list[Partition]) -> None:
        self._session += 1
        for each in partitions:
            owned = self._owned.pop(TopicPartition(each.topic, each.partition), None)
            if owned is not None:
                owned.until = self._stage.now()


def group_consumer(stage: Stage, group: str, protocol: str) -> Consumer:
    settings: dict[str, Any] = {
        **COMMON,
        "bootstrap.servers": stage.bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
        "max.poll.interval.ms": MAX_POLL_MS,
    }
    if protocol == "classic":
        settings |= {
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": SESSION_MS // 6,
            "partition.assignment.strategy": "range",
        }
    return Consumer(settings)


def isolation(is_committed: bool) -> str:
    return "read_committed" if is_committed else "read_uncommitted"
