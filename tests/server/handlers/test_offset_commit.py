"""OffsetCommit, OffsetFetch and OffsetDelete over the wire. Expectations hold for Apache Kafka 4.3.1 as well."""

from __future__ import annotations

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from server.asking import Topic, error
from server.conftest import MakeTopic, delete_topic
from server.wire_client import WireClient
from support.patience import eventually

NO_TOPIC = Topic("st-none", Uuid(b"none".ljust(16, b".")))
OK = ErrorCode.NONE


@pytest.fixture
def group_id(client: WireClient, new_name: str) -> str:
    """A new group, whose coordinator has been looked up and is there."""

    def look() -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[new_name])
        (found,) = client.ask(request, 4).coordinators
        assert found.error_code == 0
        assert fetch(client, new_name, NO_TOPIC, 0)[0] is OK

    eventually(look)
    return new_name


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


@pytest.mark.parametrize("version", range(2, 11))
def test_a_commit_is_read_back(
    client: WireClient, group_id: str, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(partitions=2)

    assert commit(client, group_id, topic, version=version, metadata="m") == [OK, OK]

    epoch = 0 if version >= 6 else -1
    assert fetch(client, group_id, topic, 1) == (OK, 7, epoch, "m")


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_read_in_every_version(
    client: WireClient, group_id: str, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(partitions=3)
    commit(client, group_id, topic)

    epoch = 0 if version >= 5 else -1
    assert fetch(client, group_id, topic, 1, version) == (OK, 7, epoch, "")
    assert fetch(client, group_id, topic, 2, version) == (OK, -1, -1, "")


@pytest.mark.parametrize("version", [9, 10])
def test_partitions_that_do_not_exist_are_refused(
    client: WireClient, group_id: str, topic: Topic, version: int
) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic_unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else unknown

    codes = commit(client, group_id, topic, NO_TOPIC, version=version)

    assert codes == [OK, unknown, topic_unknown, topic_unknown]


def test_an_unknown_topic_id_is_told_so(client: WireClient, group_id: str) -> None:
    expected = (ErrorCode.UNKNOWN_TOPIC_ID, -1, -1, "")
    assert fetch(client, group_id, NO_TOPIC, 0, 10) == expected


@pytest.mark.parametrize(
    ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_member_of_no_group_is_refused(
    client: WireClient, group_id: str, topic: Topic, version: int, code: ErrorCode
) -> None:
    codes = commit(client, group_id, topic, NO_TOPIC, version=version, member="ann", generation=1)

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [code, unknown, unknown, unknown]


def test_metadata_has_a_limit(client: WireClient, group_id: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE

    assert commit(client, group_id, topic, metadata="x" * 4096) == [OK, OK]
    assert commit(client, group_id, topic, metadata="x" * 4097) == [too_large] * 2


def test_several_groups_are_read_at_once(
    client: WireClient, group_id: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    commit(client, group_id, topic)
    groups = [
        OffsetFetchRequestGroup(group_id=name, topics=None)
        for name in (group_id, f"{group_id}-other")
    ]

    first, second = client.ask(OffsetFetchRequest(groups=groups, require_stable=True), 8).groups

    assert (first.group_id, first.error_code) == (group_id, 0)
    assert {p.partition_index for t in first.topics for p in t.partitions} == {0, 1}
    assert (second.error_code, second.topics) == (0, [])


def test_the_offsets_of_a_deleted_topic_go(
    client: WireClient, group_id: str, make_topic: MakeTopic
) -> None:
    topic, other = make_topic(partitions=2), make_topic(partitions=2)
    commit(client, group_id, topic, other)

    delete_topic(client, topic)

    def look() -> None:
        assert fetch(client, group_id, topic, 0) == (OK, -1, -1, "")

    eventually(look)
    assert fetch(client, group_id, other, 0) == (OK, 7, 0, "")


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
