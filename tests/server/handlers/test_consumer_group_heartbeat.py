"""ConsumerGroupHeartbeat: members of consumer groups (KIP-848) come, live and go."""

import os
from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.consumer_group_heartbeat import TopicPartitions
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from server.asking import error
from server.conftest import MakeTopic
from server.handlers.consumer_groups import SETTINGS, beat, describe, find_coordinator, join
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

pytestmark = pytest.mark.usefixtures("group_coordinator")


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
