"""OffsetFetch over the wire. Expectations hold for Apache Kafka 4.3.1 as well."""

from __future__ import annotations

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from server.conftest import MakeTopic
from server.handlers.offsets import NO_TOPIC, OK, commit, fetch
from server.wire_client import WireClient


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_read_in_every_version(
    client: WireClient, group_id: str, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(partitions=3)
    commit(client, group_id, topic)

    epoch = 0 if version >= 5 else -1
    assert fetch(client, group_id, topic, 1, version) == (OK, 7, epoch, "")
    assert fetch(client, group_id, topic, 2, version) == (OK, -1, -1, "")


def test_an_unknown_topic_id_is_told_so(client: WireClient, group_id: str) -> None:
    expected = (ErrorCode.UNKNOWN_TOPIC_ID, -1, -1, "")
    assert fetch(client, group_id, NO_TOPIC, 0, 10) == expected


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
