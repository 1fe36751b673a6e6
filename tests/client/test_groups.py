"""Groups of both protocols, against running brokers: every record once, whoever comes and goes."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from client.conftest import MakeTopic, admin_of
from client.networks import FlakyNetwork
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import (
    CommittedOffset,
    Consumer,
    ConsumerSettings,
    Environment,
    Producer,
    RebalanceListener,
)
from klamm.client.backoff import Backoff
from klamm.client.consumer.assignors.range import RangeAssignor
from klamm.client.consumer.assignors.round_robin import RoundRobinAssignor
from klamm.client.consumer.assignors.sticky import CooperativeStickyAssignor
from klamm.client.errors import CommitFailed

Bytes = bytes | None
PARTITIONS = 4
KINDS = {
    "range": ConsumerSettings(assignors=[RangeAssignor()]),
    "roundrobin": ConsumerSettings(assignors=[RoundRobinAssignor()]),
    "cooperative": ConsumerSettings(assignors=[CooperativeStickyAssignor()]),
    "consumer": ConsumerSettings(group_protocol="consumer"),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
ONE_OF_EACH_PROTOCOL = pytest.mark.parametrize("kind", ["range", "consumer"])


def settings_of(kind: str, group: str) -> ConsumerSettings:
    return replace(
        KINDS[kind],
        group_id=group,
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        session_timeout_ms=10_000,
    )


@dataclass
class Diary(RebalanceListener):
    events: list[tuple[str, frozenset[TopicPartition]]] = field(default_factory=list)

    async def on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("assigned", frozenset(partitions)))

    async def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("revoked", frozenset(partitions)))

    async def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("lost", frozenset(partitions)))


async def fill(address: str, topic: str, values: Collection[int]) -> None:
    async with Producer(address) as producer:
        for number in values:
            await producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


async def poll_until(done: Callable[[], bool], *consumers: Consumer[Bytes, Bytes]) -> list[int]:
    """What all of them read until it is so."""
    seen: list[int] = []
    while not done():
        for rows in await asyncio.gather(*(c.poll(timeout_ms=50) for c in consumers)):
            seen += [int(row.value or b"") for row in rows]
    return seen


async def read_until(count: int, *consumers: Consumer[Bytes, Bytes]) -> list[int]:
    seen: list[int] = []
    while len(seen) < count:
        for rows in await asyncio.gather(*(c.poll(timeout_ms=50) for c in consumers)):
            seen += [int(row.value or b"") for row in rows]
    return seen


@EVERY_KIND
async def test_members_share_the_partitions_and_each_record_is_read_once(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    settings = settings_of(kind, name)
    await fill(address, topic, range(100))

    async with Consumer(address, settings) as first:
        await first.subscribe([topic])
        seen = await read_until(100, first)
        async with Consumer(address, settings) as second:
            await second.subscribe([topic])
            seen += await poll_until(
                lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second
            )
            assert not first.assignment() & second.assignment()
            await fill(address, topic, range(100, 200))
            seen += await read_until(200 - len(seen), first, second)
        seen += await poll_until(lambda: len(first.assignment()) == PARTITIONS, first)
        await fill(address, topic, range(200, 300))
        seen += await read_until(300 - len(seen), first)

    assert sorted(seen) == list(range(300))


@EVERY_KIND
async def test_next_member_goes_on_where_the_last_one_stopped(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    settings = replace(settings_of(kind, name), max_poll_records=20)
    await fill(address, topic, range(50))

    seen: list[int] = []
    while len(seen) < 50:
        async with Consumer(address, settings) as consumer:
            await consumer.subscribe([topic])
            seen += await read_until(1, consumer)

    assert sorted(seen) == list(range(50))


@ONE_OF_EACH_PROTOCOL
async def test_without_automatic_commits_only_what_was_committed_counts(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    settings = replace(settings_of(kind, name), auto_commit=False)
    await fill(address, topic, range(40))
    partition = TopicPartition(topic, 0)

    async with Consumer(address, settings) as consumer:
        await consumer.subscribe([topic])
        await read_until(40, consumer)
        await consumer.commit({partition: CommittedOffset(4, metadata="half way")})
        committed = await consumer.committed([partition, TopicPartition(topic, 1)])
    async with Consumer(address, settings) as consumer:
        await consumer.subscribe([topic])
        again = await read_until(36, consumer)
        await consumer.commit_soon()
        end = await consumer.committed([partition])

    assert {p: (c.offset, c.metadata) for p, c in committed.items()} == {partition: (4, "half way")}
    assert sorted(again) == [n for n in range(40) if n % PARTITIONS or n >= 16]
    assert end[partition].offset == 10


@ONE_OF_EACH_PROTOCOL
async def test_automatic_commits_follow_behind_what_was_given_out(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=1)
    settings = replace(settings_of(kind, name), auto_commit_interval_ms=1, max_poll_records=5)
    async with Producer(address) as producer:
        for number in range(10):
            await producer.send(topic, b"%d" % number)

    async with Consumer(address, settings) as consumer, admin_of(address) as admin:
        await consumer.subscribe([topic])
        await read_until(10, consumer)
        partition = TopicPartition(topic, 0)
        while True:
            offsets = await admin.groups.offsets(name)
            if partition in offsets and offsets[partition].offset == 10:
                break
            await consumer.poll(timeout_ms=20)


async def test_eager_member_gives_everything_up_and_cooperative_one_only_what_moves(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    everything = frozenset(TopicPartition(topic, index) for index in range(PARTITIONS))
    diaries = {"range": Diary(), "cooperative": Diary()}

    for kind, diary in diaries.items():
        settings = settings_of(kind, f"{name}-{kind}")
        async with Consumer(address, settings) as first, Consumer(address, settings) as second:
            await first.subscribe([topic], listener=diary)
            await poll_until(lambda: len(first.assignment()) == PARTITIONS, first)
            await second.subscribe([topic])
            await poll_until(lambda: len(second.assignment()) == 2, first, second)

    assert ("revoked", everything) in diaries["range"].events
    revoked = [parts for what, parts in diaries["cooperative"].events if what == "revoked"]
    assert [len(parts) for parts in revoked[:1]] == [2]


@ONE_OF_EACH_PROTOCOL
async def test_static_member_that_comes_back_finds_its_partitions(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    settings = settings_of(kind, name)
    static = [replace(settings, group_instance_id=f"{name}-{n}") for n in range(2)]

    async with Consumer(address, static[0]) as first:
        await first.subscribe([topic])
        async with Consumer(address, static[1]) as second:
            await second.subscribe([topic])
            await poll_until(
                lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second
            )
            before = second.assignment()
        async with Consumer(address, static[1]) as second:
            await second.subscribe([topic])
            await poll_until(lambda: len(second.assignment()) == 2, first, second)
            after = second.assignment()

    assert after == before


@ONE_OF_EACH_PROTOCOL
async def test_pattern_subscribes_to_what_it_matches(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topics = [await make_topic(partitions=PARTITIONS) for _ in range(2)]
    settings = replace(settings_of(kind, name), metadata_max_age_ms=200)
    pattern = "|".join([topics[0], f"{name}.*"])

    async with Consumer(address, settings) as consumer:
        await consumer.subscribe(pattern=pattern)
        await poll_until(lambda: len(consumer.assignment()) == PARTITIONS, consumer)
        first = {partition.topic for partition in consumer.assignment()}
        if kind == "range":
            async with admin_of(address) as admin:
                await admin.topics.create(f"{name}-new", partitions=1, replication_factor=1)
            await poll_until(lambda: len(consumer.assignment()) == PARTITIONS + 1, consumer)

    assert first == {topics[0]}


async def test_topic_that_grows_is_dealt_out_anew(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic(partitions=1)
    settings = replace(settings_of("range", name), metadata_max_age_ms=200)

    async with Consumer(address, settings) as consumer, admin_of(address) as admin:
        await consumer.subscribe([topic])
        await poll_until(lambda: len(consumer.assignment()) == 1, consumer)
        await admin.topics.add_partitions(topic, 3)
        await poll_until(lambda: len(consumer.assignment()) == 3, consumer)


async def test_member_that_polls_too_seldom_loses_its_partitions_and_may_come_back(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    settings = replace(settings_of("range", name), max_poll_interval_ms=300)
    diary = Diary()

    async with Consumer(address, settings) as slow, Consumer(address, settings) as other:
        await slow.subscribe([topic], listener=diary)
        await poll_until(lambda: len(slow.assignment()) == PARTITIONS, slow)
        await other.subscribe([topic])
        await poll_until(lambda: len(other.assignment()) == PARTITIONS, other)
        with pytest.raises(CommitFailed):
            await slow.commit({TopicPartition(topic, 0): CommittedOffset(0)})
        await poll_until(lambda: len(slow.assignment()) == 2, slow, other)

    # It is never asked for a last commit: they were somebody else's already.
    assert [what for what, _ in diary.events[:2]] == ["assigned", "lost"]


@EVERY_KIND
async def test_members_that_come_and_go_over_a_network_that_breaks_miss_nothing(
    address: str, make_topic: MakeTopic, name: str, kind: str
) -> None:
    topic = await make_topic(partitions=PARTITIONS)
    rng = Random(3)
    network = FlakyNetwork(rng, 0.02, calm_answers=1)
    environment = Environment(rng=rng, open=network.open)
    settings = replace(settings_of(kind, name), max_poll_records=10, retry_backoff=Backoff(5, 50))
    seen: set[int] = set()

    async def member() -> None:
        while len(seen) < 400:
            async with Consumer(address, settings, environment=environment) as consumer:
                await consumer.subscribe([topic])
                for _ in range(rng.randrange(5, 40)):
                    rows = await consumer.poll(timeout_ms=50)
                    seen.update(int(row.value or b"") for row in rows)

    await fill(address, topic, range(400))
    await asyncio.gather(*(member() for _ in range(3)))

    assert seen == set(range(400))


async def test_subscribing_without_a_group_is_refused(klamm_address: str) -> None:
    async with Consumer(klamm_address) as consumer:
        with pytest.raises(ApiError):
            await consumer.subscribe(["topic"])
