"""What a test may do with any Kafka: a broker of the kit, a cluster of it, or one that runs elsewhere."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Self

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import Admin
from klamm.client.list_offsets import EARLIEST, LATEST
from klamm.testing.kit.client import Reader, administer, count_records, write
from klamm.testing.kit.expect import AsyncExpectation, Expectation
from klamm.testing.kit.records import Item, Record, as_record
from klamm.testing.kit.topics import BROKER_DEFAULT, NewTopic, Topic, texts

_ASK_AGAIN_SECONDS = 0.02
# Who is further behind is told by offsets, as Kafka's tools do: the others are counted.
_COUNTED = 1000


class Kafka:
    """Names of topics and groups are taken as they are; a Namespace puts something before them."""

    @property
    def bootstrap_servers(self) -> str:
        """host:port, for any client."""
        raise NotImplementedError

    def name(self, name: str) -> str:
        """The name by which clients know this topic or group."""
        return name

    @property
    def _own_servers(self) -> str:
        """For the kit's own client, which never logs in."""
        return self.bootstrap_servers

    # Topics.

    def topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        *,
        replicas: int = BROKER_DEFAULT,
        configs: Mapping[str, object] | None = None,
    ) -> Topic:
        """Created unless it is there. Without a name it gets one that no other has."""
        topic = self.name(f"topic-{uuid.uuid4().hex[:10]}" if name is None else name)
        self._create(NewTopic(topic, partitions, replicas, texts(configs or {})))
        return Topic.at(self, topic)

    def topics(self) -> list[str]:
        """All but those of the broker itself."""
        return administer(self._own_servers, _topic_names)

    def delete_topic(self, name: str) -> None:
        topic = self._of(name)
        administer(self._own_servers, lambda admin: admin.topics.delete(topic))

    def _create(self, topic: NewTopic) -> None:
        async def create(admin: Admin) -> None:
            try:
                await admin.topics.create(
                    topic.name,
                    partitions=topic.partitions,
                    replication_factor=topic.replicas,
                    configs=topic.configs,
                )
            except ApiError as e:
                if e.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise

        administer(self._own_servers, create)

    def _of(self, topic: str) -> str:
        """A Topic has its whole name already."""
        return topic.name if isinstance(topic, Topic) else self.name(topic)

    # Records.

    def produce(
        self, topic: str | Iterable[Item], items: Iterable[Item] | None = None
    ) -> list[Record]:
        """Values, pairs of key and value, or Records; what is no text or bytes is written as JSON.

        Back when all are written. Without a topic each item is a Record that names its own, or there is one topic only.
        """
        if items is None:
            assert not isinstance(topic, str), "produce(topic, items) or produce(items)"
            records = list(map(as_record, topic))
            named = self._only_topic() if any(each.topic is None for each in records) else ""
            return write(self._own_servers, named, records)
        assert isinstance(topic, str), "produce(topic, items) or produce(items)"
        return write(self._own_servers, self._of(topic), map(as_record, items))

    def records(self, topic: str, *, read_committed: bool = True) -> list[Record]:
        """All that is there now, by partition and offset."""
        with self.reader(topic, read_committed=read_committed) as reader:
            reader.read_all()
            return reader.records

    def expect(self, topic: str) -> Expectation:
        return Expectation(self, topic)

    def reader(self, topic: str, *, read_committed: bool = True) -> Reader:
        return Reader(self._own_servers, self._of(topic), read_committed=read_committed)

    def dump(self, most: int = 20) -> str:
        """All topics and the last records of each, to be read by people."""
        lines = []
        for name in self.topics():
            topic = Topic.at(self, name)
            records = self.records(topic, read_committed=False)
            partitions = {each.partition for each in records}
            lines.append(f"{name}: {len(records)} records in {len(partitions)} partitions")
            lines += [f"    {each}" for each in records[-most:]]
        return "\n".join(lines)

    def _only_topic(self) -> str:
        names = self.topics()
        if len(names) != 1:
            raise ValueError(f"which topic? There are {len(names)}: {', '.join(names) or 'none'}")
        return names[0]

    # Groups.

    def lag(self, group: str, topic: str | None = None) -> dict[TopicPartition, int]:
        """Records still to be read, by partition, of the topics for which the group has committed something."""
        group, only = self.name(group), None if topic is None else self._of(topic)
        at, lag = administer(self._own_servers, lambda admin: _lag(admin, group, only))
        short = {name: at[name] for name, count in lag.items() if 0 < count <= _COUNTED}
        counts = count_records(self._own_servers, short) if short else {}
        return {name: counts.get(name, 0) if name in short else lag[name] for name in lag}

    def assert_lag(
        self, group: str, lag: int = 0, *, topic: str | None = None, within: float = 5.0
    ) -> None:
        """The group is that many records behind, or will be in time."""
        deadline = time.monotonic() + within
        while True:
            found = self.lag(group, topic)
            total = sum(found.values())
            if found and total == lag:
                return
            if time.monotonic() >= deadline:
                told = ", ".join(f"{name} by {count}" for name, count in found.items())
                raise AssertionError(
                    f"group {group} should be behind by {lag}, after {within:g} s it is by {total}: {told}"
                    if found
                    else f"group {group} has committed nothing after {within:g} s"
                )
            time.sleep(_ASK_AGAIN_SECONDS)

    # Other forms of the same.

    @property
    def aio(self) -> AsyncKafka:
        """For tests that are coroutines: while one of these is awaited, their loop goes on."""
        return AsyncKafka(self)

    def namespace(self, prefix: str | None = None) -> Namespace:
        """For tests that share a broker: the same, with names that no other test has."""
        return Namespace(self, prefix or f"test-{uuid.uuid4().hex[:8]}")


async def _topic_names(admin: Admin) -> list[str]:
    return sorted(each.name for each in await admin.topics.list())


async def _lag(
    admin: Admin, group: str, topic: str | None
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Where the group is, and how many offsets there are behind that."""
    committed = await admin.groups.offsets(group)
    names = {each.topic for each in committed} if topic is None else {topic}
    partitions = [
        TopicPartition(name, index)
        for name in names
        for index in (await admin.topics.describe(name)).partitions
    ]
    if not committed:
        return {}, {}
    ends = await admin.records.list_offsets(dict.fromkeys(partitions, LATEST), read_committed=True)
    starts = await admin.records.list_offsets(dict.fromkeys(partitions, EARLIEST))
    positions, lag = {}, {}
    for each in sorted(partitions):
        end, start = ends[each], starts[each]
        assert end is not None
        assert start is not None
        at = committed[each].offset if each in committed else start.offset
        positions[each] = max(at, start.offset)
        lag[each] = max(0, end.offset - positions[each])
    return positions, lag


class External(Kafka):
    """A cluster that runs elsewhere: the same tests against it."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers

    @property
    def bootstrap_servers(self) -> str:
        return self._bootstrap_servers


class Namespace(Kafka):
    """All names begin with its prefix. Its topics go when the `with` ends."""

    def __init__(self, kafka: Kafka, prefix: str) -> None:
        self._kafka = kafka
        self.prefix = prefix

    @property
    def bootstrap_servers(self) -> str:
        return self._kafka.bootstrap_servers

    @property
    def _own_servers(self) -> str:
        return self._kafka._own_servers

    def name(self, name: str) -> str:
        return self._kafka.name(f"{self.prefix}.{name}")

    def topics(self) -> list[str]:
        return [each for each in self._kafka.topics() if each.startswith(self.name(""))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.topics():
            Topic.at(self, each).delete()


class AsyncKafka:
    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    async def topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        *,
        replicas: int = BROKER_DEFAULT,
        configs: Mapping[str, object] | None = None,
    ) -> Topic:
        return await asyncio.to_thread(
            self._kafka.topic, name, partitions, replicas=replicas, configs=configs
        )

    async def produce(
        self, topic: str | Iterable[Item], items: Iterable[Item] | None = None
    ) -> list[Record]:
        return await asyncio.to_thread(self._kafka.produce, topic, items)

    async def records(self, topic: str, *, read_committed: bool = True) -> list[Record]:
        return await asyncio.to_thread(self._kafka.records, topic, read_committed=read_committed)

    def expect(self, topic: str) -> AsyncExpectation:
        return AsyncExpectation(self._kafka.expect(topic))

    async def assert_lag(
        self, group: str, lag: int = 0, *, topic: str | None = None, within: float = 5.0
    ) -> None:
        await asyncio.to_thread(self._kafka.assert_lag, group, lag, topic=topic, within=within)
