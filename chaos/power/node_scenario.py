"""A whole node on a disk that loses power: what its clients were told is true of the next start.

Topics have flush.messages=1, so that an acknowledgement says that the batch is on disk.
"""

import asyncio
import time
from dataclasses import dataclass, field
from random import Random

from chaos.power.moments import Crash, Recorder
from chaos.real.client import Client
from klamm.base.ids import Uuid
from klamm.base.settings.load import load
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from klamm.protocol.records.batch import check_crc, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.node import Node
from klamm.server.world.real import real_world
from klamm.testing.disk import MemoryDisk

_NAMES = ("ann", "bob", "cid")
_PRODUCER = 7
_SETTINGS = load(
    overrides=[
        "listeners=PLAINTEXT://127.0.0.1:0",
        "log.dirs=/data/one,/data/two",
        "log.flush.offset.checkpoint.interval.ms=40",
        "log.flush.start.offset.checkpoint.interval.ms=30",
        "log.retention.check.interval.ms=30",
        "log.initial.task.delay.ms=10",
        "metadata.log.max.record.bytes.between.snapshots=3000",
    ]
)


@dataclass(frozen=True, slots=True)
class Batch:
    """An acknowledged batch. Its checksum covers all but its offset and leader epoch."""

    offset: int
    crc: int
    sequence: int
    count: int


@dataclass(slots=True)
class Told:
    """What clients know: topics by name, those that are gone, batches on disk, configs, ids that are taken."""

    topics: dict[str, Uuid] = field(default_factory=dict)
    gone: set[Uuid] = field(default_factory=set)
    batches: dict[Uuid, list[Batch]] = field(default_factory=dict)
    retention_ms: dict[Uuid, str] = field(default_factory=dict)
    partitions: dict[Uuid, int] = field(default_factory=dict)
    low_watermarks: dict[Uuid, int] = field(default_factory=dict)
    last_producer_id: int = -1

    def copy(self) -> "Told":
        return Told(
            dict(self.topics),
            set(self.gone),
            {id: list(batches) for id, batches in self.batches.items()},
            dict(self.retention_ms),
            dict(self.partitions),
            dict(self.low_watermarks),
            self.last_producer_id,
        )


class NodeScenario:
    """`run` starts a node, lets a client work with it, and stops it, twice."""

    def __init__(self, seed: int, *, share: float = 1.0) -> None:
        self.rng = Random(seed)
        self.disk = MemoryDisk()
        self.told = Told()
        self.recorder: Recorder[Told] = Recorder(self.disk, self.told.copy, seed, share)
        self._sequences: dict[Uuid, int] = {}

    def run(self, actions: int) -> None:
        for _ in range(2):
            asyncio.run(self._run(actions // 2))
        self.recorder.note()

    async def _run(self, actions: int) -> None:
        node = Node(_SETTINGS, real_world(self.disk))
        await node.start()
        try:
            host, _, port = node.ready.address.rpartition(":")
            await asyncio.to_thread(self._work, (host, int(port)), actions)
        finally:
            await node.stop()

    def _work(self, address: tuple[str, int], actions: int) -> None:
        kinds = {
            self._produce: 60,
            self._create: 12,
            self._delete: 4,
            self._configure: 6,
            self._grow: 4,
            self._delete_records: 6,
            self._take_producer_id: 2,
        }
        with Client(address) as client:
            for _ in range(actions):
                self.rng.choices(list(kinds), list(kinds.values()))[0](client)

    def _some(self) -> str | None:
        return self.rng.choice(list(self.told.topics)) if self.told.topics else None

    def _create(self, client: Client) -> None:
        """Names come again: what belonged to an earlier topic of the name must not."""
        name = self.rng.choice(_NAMES)
        if name not in self.told.topics:
            id = client.create_topic(name, flush_messages=1, internal_segment_bytes=1_500)
            self.told.batches[id] = []
            self.told.partitions[id] = 1
            self.told.topics[name] = id

    def _delete(self, client: Client) -> None:
        name = self._some()
        if name is not None:
            id = self.told.topics.pop(name)
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000)
            (answer,) = client.ask(request).responses
            assert answer.error_code == 0, answer
            self.told.gone.add(id)

    def _produce(self, client: Client) -> None:
        name = self._some()
        if name is None:
            return
        id = self.told.topics[name]
        sequence, count = self._sequences.get(id, 0), self.rng.randrange(1, 4)
        now = int(time.time() * 1000)
        batch = build_batch(
            [Record(timestamp=now, value=self.rng.randbytes(100)) for _ in range(count)],
            producer_id=_PRODUCER,
            producer_epoch=0,
            base_sequence=sequence,
        )
        error, offset = client.produce(name, batch)
        assert not error, error
        self._sequences[id] = sequence + count
        header = read_header(batch)
        self.told.batches[id].append(Batch(offset, header.crc, sequence, count))

    def _configure(self, client: Client) -> None:
        name = self._some()
        if name is not None:
            value = str(10**9 + self.rng.randrange(10**6))
            change = AlterableConfig(name="retention.ms", value=value, config_operation=0)
            resource = AlterConfigsResource(
                resource_type=ResourceType.TOPIC, resource_name=name, configs=[change]
            )
            self.told.retention_ms.pop(self.told.topics[name], None)
            (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource])).responses
            assert answer.error_code == 0, answer
            self.told.retention_ms[self.told.topics[name]] = value

    def _grow(self, client: Client) -> None:
        name = self._some()
        if name is not None:
            id = self.told.topics[name]
            count = self.told.partitions[id] + 1
            topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
            (answer,) = client.ask(CreatePartitionsRequest(topics=[topic], timeout_ms=9)).results
            assert answer.error_code == 0, answer
            self.told.partitions[id] = count

    def _delete_records(self, client: Client) -> None:
        name = self._some()
        if name is not None and self.told.batches[self.told.topics[name]]:
            id = self.told.topics[name]
            offset = self.rng.choice(self.told.batches[id]).offset
            self.told.low_watermarks[id] = max(offset, self.told.low_watermarks.get(id, 0))
            wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
            topic = DeleteRecordsTopic(name=name, partitions=[wanted])
            (answer,) = client.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=9_000)).topics
            assert answer.partitions[0].error_code == 0, answer

    def _take_producer_id(self, client: Client) -> None:
        self.told.last_producer_id = client.new_producer()


def check_node(crash: Crash[Told]) -> None:
    asyncio.run(_check(crash))


async def _check(crash: Crash[Told]) -> None:
    """The node starts and everything it ever said is so."""
    node = Node(_SETTINGS, real_world(crash.disk))
    await node.start()
    try:
        told, image = crash.promise, node.broker.image
        for name, id in told.topics.items():
            topic = image.topics_by_name[name]
            assert topic.topic_id == id
            assert len(topic.partitions) >= told.partitions[id]
            if id in told.retention_ms:
                config = image.config(ResourceType.TOPIC, name)
                assert config["retention.ms"] == told.retention_ms[id]
            _check_batches(node, name, told)
        assert not told.gone & set(image.topics_by_id)
        assert image.next_producer_id > told.last_producer_id
    finally:
        await node.stop()


def _check_batches(node: Node, name: str, told: Told) -> None:
    id = told.topics[name]
    log = node.broker.replicas.get(name, 0).log
    assert log.start_offset <= told.low_watermarks.get(id, 0), "records are gone"
    for batch in told.batches[id]:
        if batch.offset < log.start_offset:
            continue
        part = log.read(batch.offset, 1, up_to=log.end_offset)
        assert part is not None, f"offset {batch.offset} is gone"
        data = part.read()
        header = read_header(data)
        assert check_crc(data[: header.size])
        assert (header.base_offset, header.crc) == (batch.offset, batch.crc)
    if told.batches[id]:
        last = told.batches[id][-1]
        again = build_batch(
            [Record(value=b"again")] * last.count,
            producer_id=_PRODUCER,
            producer_epoch=0,
            base_sequence=last.sequence,
        )
        appended = log.append(again, leader_epoch=1 << 20, now=node.broker.clock.wall())
        assert (appended.base_offset, appended.duplicate) == (last.offset, True)
