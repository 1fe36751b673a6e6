"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: what is told, and that a change holds at once."""

import time
from typing import Any, NamedTuple

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages import alter_configs, incremental_alter_configs
from klamm.protocol.messages.alter_configs import AlterConfigsRequest
from klamm.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from klamm.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from klamm.server.loops.housekeeping import Housekeeping
from server.asking import (
    EARLIEST,
    NO_TOPIC,
    Topic,
    a_batch,
    a_produce,
    append,
    error,
    offset_at,
    partition_of,
)
from server.conftest import set_config
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

SET, DELETE, APPEND, SUBTRACT = range(4)
DYNAMIC_TOPIC, DEFAULT = 1, 5


class Change(NamedTuple):
    name: str
    value: str | None
    operation: int = SET


def change(
    client: WireClient,
    kind: int,
    resource: str,
    *changes: Change,
    version: int | None = None,
    dry: bool = False,
) -> Any:
    """The one answer to a request about one resource."""
    asked = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=resource,
        configs=[
            incremental_alter_configs.AlterableConfig(
                name=each.name, value=each.value, config_operation=each.operation
            )
            for each in changes
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=dry)
    (answer,) = client.ask(request, version).responses
    return answer


def describe(
    client: WireClient,
    kind: int,
    resource: str,
    *keys: str,
    version: int | None = None,
    **request: bool,
) -> Any:
    asked = DescribeConfigsResource(
        resource_type=kind, resource_name=resource, configuration_keys=list(keys) or None
    )
    (answer,) = client.ask(DescribeConfigsRequest(resources=[asked], **request), version).results
    return answer


def value_of(client: WireClient, topic: Topic, key: str) -> tuple[str, int]:
    """(value, source)"""
    (entry,) = describe(client, ResourceType.TOPIC, topic.name, key).configs
    return entry.value, entry.config_source


def expect(client: WireClient, topic: Topic, key: str, value: str, source: int) -> None:
    def look() -> None:
        assert value_of(client, topic, key) == (value, source)

    eventually(look)


@pytest.mark.parametrize("version", [0, 1])
def test_a_config_is_set_and_given_its_default_back(
    client: WireClient, topic: Topic, version: int
) -> None:
    setting = Change("retention.ms", "5000")
    assert change(client, ResourceType.TOPIC, topic.name, setting, version=version).error_code == 0
    expect(client, topic, "retention.ms", "5000", DYNAMIC_TOPIC)

    back = Change("retention.ms", None, DELETE)
    assert change(client, ResourceType.TOPIC, topic.name, back, version=version).error_code == 0
    expect(client, topic, "retention.ms", "604800000", DEFAULT)


def test_lists_grow_and_shrink(client: WireClient, topic: Topic) -> None:
    change(client, ResourceType.TOPIC, topic.name, Change("cleanup.policy", "compact", APPEND))
    expect(client, topic, "cleanup.policy", "delete,compact", DYNAMIC_TOPIC)

    change(client, ResourceType.TOPIC, topic.name, Change("cleanup.policy", "delete", SUBTRACT))
    expect(client, topic, "cleanup.policy", "compact", DYNAMIC_TOPIC)


@pytest.mark.parametrize("version", range(3))
def test_the_old_way_replaces_all_configs(client: WireClient, topic: Topic, version: int) -> None:
    set_config(client, topic, "retention.ms", "5000")
    asked = alter_configs.AlterConfigsResource(
        resource_type=ResourceType.TOPIC,
        resource_name=topic.name,
        configs=[alter_configs.AlterableConfig(name="retention.bytes", value="999")],
    )

    (answer,) = client.ask(AlterConfigsRequest(resources=[asked]), version).responses

    assert answer.error_code == 0
    expect(client, topic, "retention.bytes", "999", DYNAMIC_TOPIC)
    expect(client, topic, "retention.ms", "604800000", DEFAULT)


def test_a_trial_changes_nothing(client: WireClient, topic: Topic) -> None:
    setting = Change("retention.ms", "5000")

    assert change(client, ResourceType.TOPIC, topic.name, setting, dry=True).error_code == 0
    assert value_of(client, topic, "retention.ms") == ("604800000", DEFAULT)


TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
REFUSED = {
    "an unknown config": (TOPIC, Change("nonsense", "1"), ErrorCode.INVALID_CONFIG),
    "a value of the wrong kind": (TOPIC, Change("retention.ms", "x"), ErrorCode.INVALID_CONFIG),
    "no value": (TOPIC, Change("retention.ms", None), ErrorCode.INVALID_REQUEST),
    "appending to a number": (
        TOPIC,
        Change("retention.ms", "1", APPEND),
        ErrorCode.INVALID_CONFIG,
    ),
    "a config of the start": (BROKER, Change("log.dirs", "/x"), ErrorCode.INVALID_REQUEST),
    "a kind that does not exist": (99, Change("a", "b"), ErrorCode.INVALID_REQUEST),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_set_is_refused_with_a_reason(
    client: WireClient, topic: Topic, what: str
) -> None:
    kind, wrong, code = REFUSED[what]

    refused = change(client, kind, "1" if kind == BROKER else topic.name, wrong)

    assert (error(refused.error_code), bool(refused.error_message)) == (code, True)


def test_a_topic_that_does_not_exist_has_no_configs(client: WireClient) -> None:
    setting = Change("retention.ms", "5000")

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert change(client, TOPIC, NO_TOPIC.name, setting).error_code == unknown
    assert describe(client, TOPIC, NO_TOPIC.name).error_code == unknown


# -- describing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 5))
def test_each_version_describes_value_source_and_synonyms(
    client: WireClient, topic: Topic, version: int
) -> None:
    set_config(client, topic, "retention.bytes", "999")
    expect(client, topic, "retention.bytes", "999", DYNAMIC_TOPIC)

    answer = describe(
        client,
        TOPIC,
        topic.name,
        "retention.bytes",
        version=version,
        include_synonyms=True,
        include_documentation=True,
    )

    (entry,) = answer.configs
    assert (answer.error_code, answer.resource_name) == (0, topic.name)
    assert (entry.value, entry.config_source, entry.read_only) == ("999", DYNAMIC_TOPIC, False)
    assert [(each.name, each.value, each.source) for each in entry.synonyms] == [
        ("retention.bytes", "999", DYNAMIC_TOPIC),
        ("log.retention.bytes", "-1", DEFAULT),
    ]
    assert bool(entry.documentation) == (version >= 3)
    # The number of the kind LONG.
    assert entry.config_type == (5 if version >= 3 else 0)


def test_all_configs_are_described_unless_some_are_named(client: WireClient, topic: Topic) -> None:
    assert len(describe(client, TOPIC, topic.name).configs) == 33
    assert describe(client, TOPIC, topic.name, "no.such.config").configs == []


@pytest.mark.parametrize("resource", ["9", "x"])
def test_a_broker_describes_only_itself(client: WireClient, resource: str) -> None:
    assert describe(client, BROKER, resource).error_code == ErrorCode.INVALID_REQUEST
    assert describe(client, BROKER, "1", "num.partitions").configs[0].value == "1"


# -- effects ------------------------------------------------------------------------------------------------------------


def test_max_message_bytes_holds_for_the_next_batch(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"x" * 1000)

    set_config(client, topic, "max.message.bytes", "500")

    def look() -> None:
        refused = partition_of(client.ask(a_produce(topic, a_batch(b"x" * 1000))))
        assert refused.error_code == ErrorCode.MESSAGE_TOO_LARGE

    eventually(look)
    set_config(client, topic, "max.message.bytes", None)
    eventually(lambda: append(client, topic, b"x" * 1000))


def test_the_timestamp_type_holds_for_the_next_batch(client: WireClient, topic: Topic) -> None:
    before = int(time.time() * 1000)
    assert partition_of(client.ask(a_produce(topic, a_batch(timestamp=5)))).log_append_time_ms == -1

    set_config(client, topic, "message.timestamp.type", "LogAppendTime")

    def look() -> None:
        answer = partition_of(client.ask(a_produce(topic, a_batch(timestamp=5))))
        assert answer.log_append_time_ms >= before

    eventually(look)


def test_retention_removes_what_is_too_old_by_the_new_setting(
    client: WireClient, topic: Topic, node: RunningNode
) -> None:
    append(client, topic, b"old", timestamp=int(time.time() * 1000) - 60_000)
    housekeeping = Housekeeping(node.node.broker)
    node.run(housekeeping.retain(int(time.time() * 1000)))
    assert offset_at(client, topic, EARLIEST) == 0

    set_config(client, topic, "retention.ms", "1000")

    def look() -> None:
        # The first look begins a new segment; the old one goes when that is safe on disk.
        now = int(time.time() * 1000)
        node.run(housekeeping.retain(now))
        node.run(housekeeping.flush())
        assert offset_at(client, topic, EARLIEST) == 1

    eventually(look)


def test_a_default_of_the_cluster_holds_for_topics_without_their_own(
    client: WireClient, topic: Topic, node: RunningNode
) -> None:
    limit = "message.max.bytes"
    assert change(client, BROKER, "", Change(limit, "500")).error_code == 0

    refused = partition_of(client.ask(a_produce(topic, a_batch(b"x" * 1000))))
    set_config(client, topic, "max.message.bytes", "5000")
    taken = partition_of(client.ask(a_produce(topic, a_batch(b"x" * 1000))))

    change(client, BROKER, "", Change(limit, None, DELETE))
    assert (refused.error_code, taken.error_code) == (ErrorCode.MESSAGE_TOO_LARGE, 0)
