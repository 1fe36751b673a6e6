"""Where the logs of a leader start and end, asked by a follower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from klamm.base.ids import TopicPartition
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from klamm.server.peers.channel import PeerChannel

_LATEST, _EARLIEST = -1, -2


class LeaderOffsets(NamedTuple):
    start: int
    end: int


async def ask_offsets(
    channel: PeerChannel, replica_id: int, partitions: Sequence[tuple[TopicPartition, int]]
) -> dict[TopicPartition, LeaderOffsets]:
    """Of each partition, with the leader epoch we know; those that were answered with an error are left out.

    The end comes first: what is between the two moves only upwards.
    """
    ends = await _ask(channel, replica_id, partitions, _LATEST)
    starts = await _ask(channel, replica_id, partitions, _EARLIEST)
    return {name: LeaderOffsets(starts[name], end) for name, end in ends.items() if name in starts}


async def _ask(
    channel: PeerChannel,
    replica_id: int,
    partitions: Sequence[tuple[TopicPartition, int]],
    timestamp: int,
) -> dict[TopicPartition, int]:
    topics: dict[str, ListOffsetsTopic] = {}
    for name, epoch in partitions:
        topic = topics.setdefault(name.topic, ListOffsetsTopic(name=name.topic, partitions=[]))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=name.partition, current_leader_epoch=epoch, timestamp=timestamp
            )
        )
    request = ListOffsetsRequest(replica_id=replica_id, topics=list(topics.values()))
    answer: ListOffsetsResponse = await channel.ask(request)
    return {
        TopicPartition(each.name, found.partition_index): found.offset
        for each in answer.topics
        for found in each.partitions
        if not found.error_code and found.offset >= 0
    }
