"""The metadata log under power failures: what was answered is there, and what is there was decided, in order."""

import asyncio
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from chaos.power.moments import Crash, Recorder
from klamm.base.settings.broker import build_settings
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.metadata.replay import Replayer
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from klamm.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from klamm.server.broker_lifecycle import BrokerLifecycle
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.storage import DataDirectories
from klamm.server.world.real import real_world
from klamm.testing.clock import ManualClock
from klamm.testing.disk import Loss, MemoryDisk

DATA = "/data"
_NOW = 1_750_000_000_000
# Snapshots every few changes, and old ones go soon.
_SETTINGS = build_settings(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "log.dirs": DATA,
        "metadata.max.idle.interval.ms": "0",
        "metadata.log.max.record.bytes.between.snapshots": "1500",
        "metadata.max.retention.bytes": "6000",
    }
)


class Known(NamedTuple):
    """What clients were told about: topics, their settings, and which producer ids are taken."""

    topics: dict[str, tuple[bytes, int]]
    configs: dict[str, dict[str, str]]
    next_producer_id: int

    @classmethod
    def of(cls, image: ClusterImage) -> "Known":
        topics = image.topics_by_name.values()
        return cls(
            {topic.name: (bytes(topic.topic_id), len(topic.partitions)) for topic in topics},
            {
                key.resource_name: dict(values)
                for key, values in image.configs.items()
                if key.resource_type == ResourceType.TOPIC
            },
            image.next_producer_id,
        )


class MetadataPromise(NamedTuple):
    """Everything below the offset was answered to somebody. -1: the node never came up."""

    committed: int


@dataclass(slots=True)
class Machine:
    """One start of the quorum on a disk."""

    disk: MemoryDisk
    clock: ManualClock
    rng: Random
    broker: BrokerLifecycle = field(init=False)

    async def start(self) -> MetadataQuorum:
        world = replace(real_world(self.disk), clock=self.clock, chance=self.rng)
        directories = DataDirectories.open(world, _SETTINGS)
        quorum = MetadataQuorum(
            world,
            _SETTINGS,
            directories=directories,
            controller_endpoints=[Endpoint("CONTROLLER", "localhost", 9093)],
        )
        await quorum.start()
        self.broker = BrokerLifecycle(
            world,
            _SETTINGS,
            directories=directories,
            quorum=quorum,
            endpoints=[Endpoint("PLAINTEXT", "localhost", 9092)],
        )
        await self.broker.register()
        await self.broker.unfence()
        return quorum

    async def stop(self, quorum: MetadataQuorum) -> None:
        await self.broker.leave()
        await quorum.close()


class MetadataScenario:
    def __init__(self, seed: int, *, share: float = 1.0) -> None:
        self.rng = Random(seed)
        self.disk = MemoryDisk()
        self.clock = ManualClock(_NOW)
        self.recorder: Recorder[MetadataPromise] = Recorder(self.disk, self._promise, seed, share)
        self._machine = Machine(self.disk, self.clock, self.rng)
        self._quorum: MetadataQuorum | None = None
        # Offset of the last record -> what was known then, in order.
        self._offsets: list[int] = [-1]
        self._known: list[Known] = [Known({}, {}, 0)]
        self._number = 0

    def run(self, actions: int) -> None:
        asyncio.run(self._run(actions))

    def known_at(self, offset: int) -> Known:
        return self._known[bisect_right(self._offsets, offset) - 1]

    def _promise(self) -> MetadataPromise:
        return MetadataPromise(-1 if self._quorum is None else self._quorum.high_watermark)

    async def _run(self, actions: int) -> None:
        self._quorum = await self._machine.start()
        for _ in range(actions):
            self.clock.advance(self.rng.randrange(1_000))
            if self.rng.random() < 0.07:
                await self._restart()
            else:
                await self._change_some()
        self.recorder.note()
        await self._machine.stop(self._quorum)

    async def _restart(self) -> None:
        """In between nobody can ask, but what was answered stays answered."""
        assert self._quorum is not None
        await self._machine.stop(self._quorum)
        self._quorum = await self._machine.start()

    async def _change_some(self) -> None:
        """One sync serves all who came meanwhile."""
        await asyncio.gather(*(self._change() for _ in range(self.rng.randrange(1, 4))))

    def _change(self) -> "asyncio.Future[object]":
        quorum = self._quorum
        assert quorum is not None
        topics = list(quorum.driver.image.topics_by_name)
        kind = self.rng.choice(("create", "create", "delete", "grow", "configure", "ids"))
        if kind == "ids":
            answer = _allocate(quorum)
        elif kind == "create" or not topics:
            self._number += 1
            answer = create(quorum, f"topic{self._number}", self.rng.randrange(1, 4))
        elif kind == "delete":
            answer = _delete(quorum, self.rng.choice(topics))
        elif kind == "grow":
            name = self.rng.choice(topics)
            count = len(quorum.driver.image.topics_by_name[name].partitions)
            answer = _grow(quorum, name, count + 1)
        else:
            answer = _configure(quorum, self.rng.choice(topics), str(self.rng.randrange(1, 99)))
        self._note(quorum)
        return answer

    def _note(self, quorum: MetadataQuorum) -> None:
        image = quorum.driver.image
        if image.offset > self._offsets[-1]:
            self._offsets.append(image.offset)
            self._known.append(Known.of(image))


def create(quorum: MetadataQuorum, name: str, partitions: int) -> "asyncio.Future[object]":
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic])
    return quorum.submit(lambda controller, now: controller.create_topics(request, now))


def _allocate(quorum: MetadataQuorum) -> "asyncio.Future[object]":
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=quorum.broker_epoch)
    return quorum.submit(lambda controller, now: controller.allocate_producer_ids(request, now))


def _delete(quorum: MetadataQuorum, name: str) -> "asyncio.Future[object]":
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
    return quorum.submit(lambda controller, now: controller.delete_topics(request, now))


def _grow(quorum: MetadataQuorum, name: str, count: int) -> "asyncio.Future[object]":
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)]
    )
    return quorum.submit(lambda controller, now: controller.create_partitions(request, now))


def _configure(quorum: MetadataQuorum, name: str, value: str) -> "asyncio.Future[object]":
    change = AlterableConfig(name="retention.ms", value=value, config_operation=0)
    resource = AlterConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name=name, configs=[change]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    return quorum.submit(lambda controller, now: controller.incremental_alter_configs(request, now))


def check_metadata(scenario: MetadataScenario, crash: Crash[MetadataPromise]) -> None:
    """AssertionError if something answered is gone, or something is there that was never decided."""
    if crash.promise.committed >= 0:
        image = _load(crash.disk)
        assert image.offset + 1 >= crash.promise.committed, "what was answered is gone"
        assert Known.of(image) == scenario.known_at(image.offset)
    asyncio.run(_check_life_goes_on(crash))


def _load(disk: MemoryDisk) -> ClusterImage:
    """From a copy: opening a log changes it."""
    store = MetadataLog(disk.fork(), DATA, _SETTINGS.quorum, _NOW)
    replayer = Replayer(store.load_snapshot(""))
    for header, records in store.batches(replayer.image.offset + 1, store.log.end_offset):
        replayer.replay(
            records,
            last_offset=header.last_offset,
            epoch=header.leader_epoch,
            timestamp=header.max_timestamp,
        )
    return replayer.publish()[0]


async def _check_life_goes_on(crash: Crash[MetadataPromise]) -> None:
    """The node starts, and what it is asked then survives, too."""
    machine = Machine(crash.disk, ManualClock(_NOW), crash.rng)
    quorum = await machine.start()
    await create(quorum, "afterwards", 1)
    known = Known.of(quorum.image)
    at_once = crash.disk.fork()
    at_once.crash(crash.rng, Loss.ALL)
    await machine.stop(quorum)
    assert Known.of(_load(at_once)) == known
