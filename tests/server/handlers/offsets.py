"""Short ways to commit offsets and to read them."""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from server.asking import Topic, error
from server.wire_client import WireClient

NO_TOPIC = Topic("st-none", Uuid(b"none".ljust(16, b".")))
OK = ErrorCode.NONE


def commit(
    client: WireClient, group_id: str, *topics: Topic, version: int = 9, **how: object
) -> list[ErrorCode]:
    """Commits offset 7 for partitions 0 and 1 of each topic."""
    request = OffsetCommitRequest(
        group_id=group_id,
        member_id=str(how.get("member", "")),
        generation_id_or_member_epoch=int(str(how.get("generation", -1))),
        topics=[
            OffsetCommitRequestTopic(
                name=topic.name,
                topic_id=topic.id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=7,
                        committed_leader_epoch=0,
                        committed_metadata=str(how.get("metadata", "")),
                    )
                    for index in (0, 1)
                ],
            )
            for topic in topics
        ],
    )
    answers = client.ask(request, version).topics
    by_topic = {topic.name if version < 10 else topic.topic_id: topic for topic in answers}
    return [
        error(code)
        for topic in topics
        for _, code in sorted(
            (p.partition_index, p.error_code)
            for p in by_topic[topic.name if version < 10 else topic.id].partitions
        )
    ]


def fetch(
    client: WireClient, group_id: str, topic: Topic, index: int, version: int = 9
) -> tuple[ErrorCode, int, int, str | None]:
    """Error, offset, leader epoch and metadata of one partition."""
    if version < 8:
        asked = OffsetFetchRequestTopic(name=topic.name, partition_indexes=[index])
        answer = client.ask(OffsetFetchRequest(group_id=group_id, topics=[asked]), version)
        assert answer.error_code == 0
        (found,) = answer.topics
    else:
        named = OffsetFetchRequestTopics(
            name=topic.name, topic_id=topic.id, partition_indexes=[index]
        )
        group = OffsetFetchRequestGroup(group_id=group_id, topics=[named])
        (answered,) = client.ask(OffsetFetchRequest(groups=[group]), version).groups
        if answered.error_code:
            return error(answered.error_code), -1, -1, None
        (found,) = answered.topics
    (p,) = found.partitions
    return error(p.error_code), p.committed_offset, p.committed_leader_epoch, p.metadata
