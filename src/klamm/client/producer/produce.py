"""Produce requests out of batches, and what an answer says of each partition."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.client.metadata import ClusterView
from klamm.client.producer.batch import Batch
from klamm.client.producer.settings import ProducerSettings
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


def produce_request(
    batches: Sequence[Batch], view: ClusterView, settings: ProducerSettings
) -> ProduceRequest:
    """Topics are named both ways: the version decides which of them goes out."""
    topics: dict[str, TopicProduceData] = {}
    is_transactional = settings.transactional_id is not None
    for batch in batches:
        name, index = batch.partition
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = TopicProduceData(name=name, topic_id=view.topics[name].topic_id)
        records = batch.encode(
            settings.compression, settings.compression_level, is_transactional=is_transactional
        )
        topic.partition_data.append(PartitionProduceData(index=index, records=records))
    return ProduceRequest(
        transactional_id=settings.transactional_id,
        acks=settings.acks,
        timeout_ms=settings.request_timeout_ms,
        topic_data=list(topics.values()),
    )


def outcomes(
    response: ProduceResponse, view: ClusterView
) -> dict[TopicPartition, PartitionProduceResponse]:
    found: dict[TopicPartition, PartitionProduceResponse] = {}
    for topic in response.responses:
        name = topic.name if topic.topic_id == ZERO_UUID else view.name_of(topic.topic_id)
        for part in topic.partition_responses:
            found[TopicPartition(name or "", part.index)] = part
    return found
