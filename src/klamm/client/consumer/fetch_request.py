"""Fetch requests out of positions, and what an answer says of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.consumer.state import PartitionState
from klamm.client.metadata import ClusterView
from klamm.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

# The last version that names topics instead of giving their ids.
FETCH_BY_NAME = 12


def fetch_request(
    wanted: Mapping[TopicPartition, PartitionState],
    view: ClusterView,
    settings: ConsumerSettings,
) -> FetchRequest:
    """Every request is complete: no session is kept, so no answer depends on an earlier one."""
    topics: dict[str, FetchTopic] = {}
    for (name, index), state in wanted.items():
        known = view.topics[name]
        topic = topics.setdefault(name, FetchTopic(topic=name, topic_id=known.topic_id))
        topic.partitions.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=known.partitions[index].leader_epoch,
                fetch_offset=state.position or 0,
                last_fetched_epoch=state.leader_epoch,
                partition_max_bytes=settings.max_partition_fetch_bytes,
            )
        )
    return FetchRequest(
        max_wait_ms=settings.fetch_max_wait_ms,
        min_bytes=settings.fetch_min_bytes,
        max_bytes=settings.fetch_max_bytes,
        isolation_level=settings.isolation_level,
        topics=list(topics.values()),
        rack_id=settings.rack,
    )


def highest_version(
    wanted: Mapping[TopicPartition, PartitionState], view: ClusterView
) -> int | None:
    has_ids = all(view.topics[p.topic].topic_id != ZERO_UUID for p in wanted)
    return None if has_ids else FETCH_BY_NAME


def parts_of(
    answer: FetchResponse, view: ClusterView
) -> Iterator[tuple[TopicPartition, PartitionData]]:
    for topic in answer.responses:
        name = topic.topic if topic.topic_id == ZERO_UUID else view.name_of(topic.topic_id)
        for part in topic.partitions:
            if name is not None:
                yield TopicPartition(name, part.partition_index), part
