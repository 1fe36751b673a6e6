"""OffsetDelete over the wire. Expectations hold for Apache Kafka 4.3.1 as well."""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from server.asking import error
from server.conftest import MakeTopic
from server.handlers.offsets import OK, commit, fetch
from server.wire_client import WireClient


def test_offsets_are_deleted(client: WireClient, group_id: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    commit(client, group_id, topic)
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 5)]
    asked = OffsetDeleteRequestTopic(name=topic.name, partitions=partitions)

    answer = client.ask(OffsetDeleteRequest(group_id=group_id, topics=[asked]), 0)

    assert answer.error_code == 0
    (found,) = answer.topics
    assert {p.partition_index: error(p.error_code) for p in found.partitions} == {
        0: OK,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert fetch(client, group_id, topic, 0) == (OK, -1, -1, "")
    assert fetch(client, group_id, topic, 1) == (OK, 7, 0, "")


def test_no_offsets_of_a_missing_group_are_deleted(client: WireClient, group_id: str) -> None:
    answer = client.ask(OffsetDeleteRequest(group_id=f"{group_id}-other"), 0)
    assert error(answer.error_code) is ErrorCode.GROUP_ID_NOT_FOUND
