"""OffsetCommit over the wire. Expectations hold for Apache Kafka 4.3.1 as well."""

from __future__ import annotations

import pytest

from klamm.base.errors import ErrorCode
from server.asking import Topic
from server.conftest import MakeTopic, delete_topic
from server.handlers.offsets import NO_TOPIC, OK, commit, fetch
from server.wire_client import WireClient
from support.patience import eventually


@pytest.mark.parametrize("version", range(2, 11))
def test_a_commit_is_read_back(
    client: WireClient, group_id: str, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(partitions=2)

    assert commit(client, group_id, topic, version=version, metadata="m") == [OK, OK]

    epoch = 0 if version >= 6 else -1
    assert fetch(client, group_id, topic, 1) == (OK, 7, epoch, "m")


@pytest.mark.parametrize("version", [9, 10])
def test_partitions_that_do_not_exist_are_refused(
    client: WireClient, group_id: str, topic: Topic, version: int
) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic_unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else unknown

    codes = commit(client, group_id, topic, NO_TOPIC, version=version)

    assert codes == [OK, unknown, topic_unknown, topic_unknown]


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
