"""Consumer groups over the wire: both versions of both APIs, refusals, group configs, and a restart of the node.

With KLAMM_TEST_BOOTSTRAP=HOST:PORT they ask another Kafka.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from klamm.protocol.messages.list_groups import ListGroupsRequest
from server.asking import error
from server.conftest import MakeTopic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

SETTINGS = {"offsets.topic.num.partitions": 3, "group.consumer.assignment.interval.ms": 0}
ALL_OPERATIONS_ASKED = -0x80000000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    other = os.environ.get("KLAMM_TEST_BOOTSTRAP")
    if other:
        yield other
        return
    with (
        tempfile.TemporaryDirectory(prefix="klamm-test-") as directory,
        RunningNode(Path(directory) / "data", SETTINGS) as running,
    ):
        yield running.address


@pytest.fixture(autouse=True)
def coordinator(client: WireClient) -> None:
    find_coordinator(client)


def find_coordinator(client: WireClient) -> None:
    def look() -> None:
        found = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["any"]))
        assert error(found.coordinators[0].error_code) is ErrorCode.NONE
        for name in ("a", "b", "c"):
            (group,) = describe(client, name)
            assert error(group.error_code) is ErrorCode.GROUP_ID_NOT_FOUND

    eventually(look)


def beat(
    client: WireClient, group: str, member_id: str, epoch: int, version: int = 1, **more: Any
) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, **more
    )
    return client.ask(request, version)


def join(
    client: WireClient, group: str, topic: str, version: int = 1, member_id: str = "ann"
) -> Any:
    facts: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
    return beat(client, group, member_id, 0, version, subscribed_topic_names=[topic], **facts)


def describe(client: WireClient, *groups: str, version: int = 1, **more: Any) -> list[Any]:
    request = ConsumerGroupDescribeRequest(group_ids=list(groups), **more)
    answer: list[Any] = client.ask(request, version).groups
    return answer


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_joins_lives_and_leaves_in_any_version(
    client: WireClient, make_topic: MakeTopic, new_name: str, version: int
) -> None:
    topic = make_topic(2)

    joined = join(client, new_name, topic.name, version)
    lives = beat(client, new_name, joined.member_id, joined.member_epoch, version)
    left = beat(client, new_name, joined.member_id, -1, version)

    assert (error(joined.error_code), joined.member_epoch) == (ErrorCode.NONE, 2)
    assert joined.assignment.topic_partitions == [
        TopicPartitions(topic_id=topic.id, partitions=[0, 1])
    ]
    assert (lives.member_epoch, lives.assignment) == (2, None)
    assert (error(left.error_code), left.member_epoch) == (ErrorCode.NONE, -1)


def test_an_old_client_is_given_its_id(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    joined = join(client, new_name, make_topic().name, version=0, member_id="")

    assert len(joined.member_id) == 22


def test_a_refusal_says_why(client: WireClient, new_name: str) -> None:
    unknown = beat(client, new_name, "ann", 3)
    wrong = beat(client, new_name, "", 0)

    assert error(unknown.error_code) is ErrorCode.GROUP_ID_NOT_FOUND
    assert unknown.error_message == f"Consumer group {new_name} not found."
    assert error(wrong.error_code) is ErrorCode.INVALID_REQUEST
    assert wrong.error_message == "MemberId can't be empty."


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


def test_a_consumer_group_is_listed_as_one(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    join(client, new_name, make_topic().name)

    listed = client.ask(ListGroupsRequest(types_filter=["consumer"], states_filter=["Stable"]))

    mine = [each for each in listed.groups if each.group_id == new_name]
    assert [(g.protocol_type, g.group_state, g.group_type) for g in mine] == [
        ("consumer", "Stable", "consumer")
    ]


def test_a_group_config_takes_effect(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    override = AlterableConfig(name="consumer.heartbeat.interval.ms", value="9000")
    resource = AlterConfigsResource(
        resource_type=ResourceType.GROUP, resource_name=new_name, configs=[override]
    )
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert [error(each.error_code) for each in answer.responses] == [ErrorCode.NONE]
    joined = join(client, new_name, make_topic().name)

    def look() -> None:
        lives = beat(client, new_name, "ann", joined.member_epoch)
        assert lives.heartbeat_interval_ms == 9_000

    eventually(look)


def test_a_group_outlives_its_node(tmp_path: Path, new_name: str) -> None:
    if os.environ.get("KLAMM_TEST_BOOTSTRAP"):
        pytest.skip("the broker under test is another process")
    data = tmp_path / "data"
    with RunningNode(data, SETTINGS) as running, WireClient(running.address) as client:
        find_coordinator(client)
        epoch = join(client, new_name, "missing").member_epoch
        before = describe(client, new_name)

    with RunningNode(data, SETTINGS) as running, WireClient(running.address) as client:
        eventually(lambda: _is_found(client, new_name))
        after = describe(client, new_name)
        lives = beat(client, new_name, "ann", epoch)

    assert after == before
    assert error(lives.error_code) is ErrorCode.NONE


def _is_found(client: WireClient, group: str) -> None:
    (found,) = describe(client, group)
    assert error(found.error_code) is ErrorCode.NONE
