"""All that clients can learn from a broker about its data, asked for in requests that klamm and Kafka both serve.

Two pictures of the same data directory must be equal, whoever took the directory over in between.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Message

from klamm.base.ids import TopicPartition, Uuid
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from klamm.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from klamm.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from klamm.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from klamm.protocol.messages.list_config_resources import ListConfigResourcesRequest
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from klamm.protocol.records.batch import BatchHeader, batches
from support.plain_messages import plain
from support.raw_client import RawClient

# Kinds of resources that have configs, by their numbers in the protocol.
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
UNCOMMITTED, COMMITTED = 0, 1
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
# Earliest local, latest tiered and earliest pending upload: about tiers that neither broker has here.
SPECIAL = (LATEST, EARLIEST, MAX_TIMESTAMP, -4, -5, -6)
# How many points in time a partition is asked for.
TIMES = 5
FETCH_BYTES = 1 << 20
LONG_VALUE = 40


class StoredBatch(NamedTuple):
    header: BatchHeader
    fingerprint: str


@dataclass(slots=True)
class Picture:
    """Each field is one facet; partitions without anything to say are left out."""

    cluster: dict[str, Any] = field(default_factory=dict)
    topics: dict[str, Any] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    sizes: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    batches: dict[TopicPartition, list[StoredBatch]] = field(default_factory=dict)
    offsets: dict[TopicPartition, dict[Any, Any]] = field(default_factory=dict)
    epoch_ends: dict[TopicPartition, dict[int, Any]] = field(default_factory=dict)
    aborted: dict[TopicPartition, list[tuple[int, int]]] = field(default_factory=dict)
    producers: dict[TopicPartition, list[Any]] = field(default_factory=dict)
    uncommitted: dict[TopicPartition, list[Any]] = field(default_factory=dict)
    committed: dict[TopicPartition, list[Any]] = field(default_factory=dict)


FACETS = [each.name for each in fields(Picture)]


def take(address: str) -> Picture:
    with RawClient(address) as client:
        return _Photographer(client, address).take()


class _Photographer:
    def __init__(self, client: RawClient, address: str) -> None:
        self._client = client
        self._address = address
        self._picture = Picture()
        self._ids: dict[str, Uuid] = {}

    def take(self) -> Picture:
        picture = self._picture
        self._take_cluster()
        partitions = self._take_topics()
        self._take_configs(sorted(self._ids))
        self._take_sizes()
        for partition in partitions:
            self._take_batches(partition)
            self._take_offsets(partition)
            self._take_epoch_ends(partition)
            self._take_producers(partition)
        starts = {each: picture.offsets[each][EARLIEST][1] for each in partitions}
        picture.uncommitted = _consumed(self._address, starts, "read_uncommitted")
        picture.committed = _consumed(self._address, starts, "read_committed")
        return picture

    def _take_cluster(self) -> None:
        answer = self._client.ask("metadata", 12, MetadataRequest())
        versions = self._client.ask("api_versions", 4, _WHO)
        listed = self._client.ask("list_config_resources", 1, ListConfigResourcesRequest())
        resources = {(each.resource_type, each.resource_name) for each in listed.config_resources}
        self._picture.cluster = {
            "id": answer.cluster_id,
            "controller": answer.controller_id,
            "brokers": [(each.node_id, each.host, each.port) for each in answer.brokers],
            "features": sorted((f.name, f.max_version_level) for f in versions.finalized_features),
            "configs": {
                (kind, name): self._configs(kind, name)
                for kind, name in {*resources, (BROKER, "")}
                if kind in (BROKER, CLIENT_METRICS, GROUP)
            },
        }

    def _take_topics(self) -> list[TopicPartition]:
        answer = self._client.ask("describe_topic_partitions", 0, DescribeTopicPartitionsRequest())
        assert answer.next_cursor is None
        partitions = []
        for topic in answer.topics:
            self._ids[topic.name] = topic.topic_id
            states = [plain(each, 0) for each in topic.partitions]
            for state in states:
                assert (state["error_code"], state["leader_id"]) == (0, 1)
                # How often the leader changed is a matter of starts and stops.
                del state["leader_epoch"]
                partitions.append(TopicPartition(topic.name, state["partition_index"]))
            self._picture.topics[topic.name] = (str(topic.topic_id), topic.is_internal, states)
        return partitions

    def _take_configs(self, topics: Iterable[str]) -> None:
        self._picture.configs = {topic: self._configs(TOPIC, topic) for topic in topics}

    def _configs(self, kind: int, name: str) -> dict[str, Any]:
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
        (result,) = self._client.ask("describe_configs", 4, request).results
        assert result.error_code == 0
        return {
            each.name: (
                each.value,
                each.config_source,
                [(synonym.name, synonym.value, synonym.source) for synonym in each.synonyms],
            )
            for each in result.configs
            # What a broker was started with is its own affair; what the cluster keeps is not.
            if kind != BROKER or each.config_source in _KEPT_SOURCES
        }

    def _take_sizes(self) -> None:
        answer = self._client.ask("describe_log_dirs", 4, DescribeLogDirsRequest(topics=None))
        self._picture.sizes = {
            each.log_dir: {
                TopicPartition(topic.name, partition.partition_index): partition.partition_size
                for topic in each.topics
                for partition in topic.partitions
            }
            for each in answer.results
        }

    def _take_batches(self, partition: TopicPartition) -> None:
        stored = [
            StoredBatch(header, hashlib.sha256(batch).hexdigest()[:12])
            for data, _ in self._fetched(partition, UNCOMMITTED)
            for header, batch in data
        ]
        if stored:
            self._picture.batches[partition] = stored
        aborted = {
            (each.producer_id, each.first_offset)
            for _, answer in self._fetched(partition, COMMITTED)
            for each in answer.aborted_transactions or ()
        }
        hiding = sorted(each for each in aborted if _hides_something(each, stored))
        if hiding:
            self._picture.aborted[partition] = hiding

    def _fetched(
        self, partition: TopicPartition, isolation: int
    ) -> Iterator[tuple[list[tuple[BatchHeader, memoryview]], PartitionData]]:
        """The whole partition as raw batches, answer by answer."""
        offset = self._list_offset(partition, EARLIEST)[1]
        end = self._list_offset(partition, LATEST, isolation)[1]
        while offset < end:
            answer = self._fetch(partition, offset, isolation)
            found = list(batches(answer.records or b"", partial_end=True))
            assert found, f"nothing of {partition} at {offset}, which ends at {end}"
            yield found, answer
            offset = found[-1][0].last_offset + 1

    def _fetch(self, partition: TopicPartition, offset: int, isolation: int) -> PartitionData:
        asked = FetchPartition(
            partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
        )
        topic = FetchTopic(topic_id=self._ids[partition.topic], partitions=[asked])
        request = FetchRequest(isolation_level=isolation, max_wait_ms=0, topics=[topic])
        (answered,) = self._client.ask("fetch", 16, request).responses
        answer: PartitionData = answered.partitions[0]
        assert answer.error_code == 0
        return answer

    def _take_offsets(self, partition: TopicPartition) -> None:
        found: dict[Any, Any] = {
            point: self._list_offset(partition, point)[:2] for point in SPECIAL
        }
        found["stable"] = self._list_offset(partition, LATEST, COMMITTED)[1]
        found["of max timestamp"] = self._list_offset(partition, MAX_TIMESTAMP)
        stamps = sorted({each.header.max_timestamp for each in self._stored(partition)})
        for stamp in stamps[:: len(stamps) // TIMES + 1] + stamps[-1:]:
            for time in (stamp - 1, stamp, stamp + 1):
                found[time] = self._list_offset(partition, time)
        self._picture.offsets[partition] = found

    def _stored(self, partition: TopicPartition) -> list[StoredBatch]:
        return self._picture.batches.get(partition, [])

    def _list_offset(
        self, partition: TopicPartition, time: int, isolation: int = UNCOMMITTED
    ) -> tuple[int, int, int]:
        asked = ListOffsetsPartition(partition_index=partition.partition, timestamp=time)
        topic = ListOffsetsTopic(name=partition.topic, partitions=[asked])
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[topic])
        (answered,) = self._client.ask("list_offsets", 11, request).topics
        (answer,) = answered.partitions
        assert answer.error_code == 0, f"{partition} at {time}: error {answer.error_code}"
        return answer.timestamp, answer.offset, answer.leader_epoch

    def _take_epoch_ends(self, partition: TopicPartition) -> None:
        """Of epochs that wrote something: how many others there were is a matter of starts and stops."""
        epochs = sorted({each.header.leader_epoch for each in self._stored(partition)})
        ends = {}
        for epoch in epochs:
            asked = OffsetForLeaderPartition(partition=partition.partition, leader_epoch=epoch)
            topic = OffsetForLeaderTopic(topic=partition.topic, partitions=[asked])
            answer = self._client.ask(
                "offset_for_leader_epoch", 4, OffsetForLeaderEpochRequest(topics=[topic])
            )
            found = answer.topics[0].partitions[0]
            ends[epoch] = (found.error_code, found.leader_epoch, found.end_offset)
        if ends:
            self._picture.epoch_ends[partition] = ends

    def _take_producers(self, partition: TopicPartition) -> None:
        topic = TopicRequest(name=partition.topic, partition_indexes=[partition.partition])
        request = DescribeProducersRequest(topics=[topic])
        (answered,) = self._client.ask("describe_producers", 0, request).topics
        (answer,) = answered.partitions
        assert answer.error_code == 0
        if answer.active_producers:
            active = sorted(answer.active_producers, key=lambda each: each.producer_id)
            self._picture.producers[partition] = active


_WHO = ApiVersionsRequest(client_software_name="test", client_software_version="1")
# DYNAMIC_BROKER_CONFIG and DYNAMIC_DEFAULT_BROKER_CONFIG
_KEPT_SOURCES = (2, 3)


def _consumed(
    address: str, starts: dict[TopicPartition, int], isolation: str
) -> dict[TopicPartition, list[Any]]:
    """Every record that a real consumer gets, from the beginning of each partition to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            # It demands a group's name; without commits the group is never spoken to.
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": isolation,
            "check.crcs": True,
            "fetch.wait.max.ms": 10,
        }
    )
    found: dict[TopicPartition, list[Any]] = defaultdict(list)
    waiting = set(starts)
    try:
        consumer.assign(
            [confluent_kafka.TopicPartition(*each, start) for each, start in starts.items()]
        )
        while waiting:
            message = consumer.poll(30)
            assert message is not None, f"no end came of {waiting}"
            partition = place_of(message)
            error = message.error()
            if error is None:
                found[partition].append(_record(message))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                waiting.discard(partition)
    finally:
        consumer.close()
    return dict(found)


def _hides_something(aborted: tuple[int, int], stored: list[StoredBatch]) -> bool:
    """Compaction drops aborted records: nobody needs to be told of those any more, and recovery forgets them."""
    producer_id, first_offset = aborted
    for header, _ in stored:
        if header.producer_id == producer_id and header.base_offset >= first_offset:
            return not header.is_control
    return False


def place_of(message: Message) -> TopicPartition:
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    return TopicPartition(topic, partition)


def _record(message: Message) -> tuple[Any, ...]:
    value = shortened(message.value())
    return message.offset(), message.timestamp(), message.key(), value, message.headers()


def shortened(value: bytes | None) -> bytes | str | None:
    """Long values are told apart by what they hash to: nobody wants to read them in a failure."""
    if value is None or len(value) <= LONG_VALUE:
        return value
    return f"{len(value)} bytes, {hashlib.sha256(value).hexdigest()[:12]}"
