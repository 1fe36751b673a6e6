"""Whole request frames, encoded once before anything is measured. Knows the protocol and no socket."""

import os
import time
from collections.abc import Sequence
from struct import Struct

from klamm.base.ids import Uuid
from klamm.protocol.compile import encode
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from klamm.protocol.messages.headers import RequestHeader
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record

# What the newest clients speak: topics by id, everything flexible.
PRODUCE, PRODUCE_VERSION = 0, 13
FETCH, FETCH_VERSION = 1, 17
METADATA, METADATA_VERSION = 3, 13
CREATE_TOPICS, CREATE_TOPICS_VERSION = 19, 7
DELETE_TOPICS, DELETE_TOPICS_VERSION = 20, 6

# How much of an answer is the same each time if all is well: size, correlation id, tags; one topic, one partition,
# and its error code.
PRODUCE_SAME_BYTES = 4 + 4 + 1 + 1 + 16 + 1 + 4 + 2
# As above, with throttle time, error code and session id in front of the topic.
FETCH_SAME_BYTES = 4 + 4 + 1 + 4 + 2 + 4 + 1 + 16 + 1 + 4 + 2

_SIZE = Struct(">i")
_TIMEOUT_MS = 30_000
_HEADER_VERSION = 2


def batch_of(count: int, value_size: int) -> bytes:
    """One batch of records with random values and no keys."""
    now = time.time_ns() // 1_000_000
    value = os.urandom(value_size)
    return bytes(build_batch(Record(0, now, None, value, []) for _ in range(count)))


def produce_frame(
    topic_id: Uuid, partition: int, batch: bytes, *, acks: int, transactional_id: str | None = None
) -> bytes:
    data = PartitionProduceData(index=partition, records=batch)
    topic = TopicProduceData(topic_id=topic_id, partition_data=[data])
    request = ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=_TIMEOUT_MS, topic_data=[topic]
    )
    return frame(PRODUCE, PRODUCE_VERSION, request)


def fetch_frame(
    topic_id: Uuid, partition: int, offset: int, *, max_bytes: int, max_wait_ms: int = 0
) -> bytes:
    """A fetch without a session, as librdkafka sends it."""
    asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        topics=[FetchTopic(topic_id=topic_id, partitions=[asked])],
    )
    return frame(FETCH, FETCH_VERSION, request)


def metadata_frame(topics: Sequence[str]) -> bytes:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
    )
    return frame(METADATA, METADATA_VERSION, request)


def create_topics_frame(names: Sequence[str], *, partitions: int) -> bytes:
    topics = [
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS)
    return frame(CREATE_TOPICS, CREATE_TOPICS_VERSION, request)


def delete_topics_frame(names: Sequence[str]) -> bytes:
    topics = [DeleteTopicState(name=name) for name in names]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS)
    return frame(DELETE_TOPICS, DELETE_TOPICS_VERSION, request)


def frame(api_key: int, version: int, body: object) -> bytes:
    """Any request of a flexible version."""
    header = RequestHeader(
        request_api_key=api_key, request_api_version=version, correlation_id=1, client_id="bench"
    )
    content = encode(header, _HEADER_VERSION) + encode(body, version)
    return _SIZE.pack(len(content)) + content
