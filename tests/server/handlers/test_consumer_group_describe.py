"""ConsumerGroupDescribe: groups and their members, each group by itself."""

import pytest

from klamm.base.errors import ErrorCode
from server.asking import error
from server.conftest import MakeTopic
from server.handlers.consumer_groups import describe, join
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


ALL_OPERATIONS_ASKED = -0x80000000


@pytest.mark.parametrize("version", [0, 1])
def test_groups_are_described_one_by_one(
    client: WireClient, make_topic: MakeTopic, new_name: str, version: int
) -> None:
    topic = make_topic(1)
    join(client, new_name, topic.name)

    found, missing, nameless = describe(client, new_name, "missing", "", version=version)

    assert (found.group_state, found.group_epoch, found.assignor_name) == ("Stable", 2, "uniform")
    assert found.authorized_operations == ALL_OPERATIONS_ASKED
    (member,) = found.members
    assert (member.member_id, member.client_id, member.client_host) == ("ann", "wire", "/127.0.0.1")
    assert [t.topic_name for t in member.assignment.topic_partitions] == [topic.name]
    assert member.member_type == (1 if version else -1)
    assert error(missing.error_code) is ErrorCode.GROUP_ID_NOT_FOUND
    assert error(nameless.error_code) is ErrorCode.INVALID_GROUP_ID


def test_allowed_operations_are_told_if_asked_for(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    join(client, new_name, make_topic().name)

    (found,) = describe(client, new_name, include_authorized_operations=True)

    assert found.authorized_operations > 0
