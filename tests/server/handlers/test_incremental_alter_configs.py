"""IncrementalAlterConfigs: what may be changed, and that a change holds at once."""

import time

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
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
from server.handlers.configs import (
    APPEND,
    DEFAULT,
    DELETE,
    DYNAMIC_TOPIC,
    SUBTRACT,
    Change,
    change,
    describe,
    expect,
    value_of,
)
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


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


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        (BROKER, "log.retention.ms", "Unexpected broker id, expected 1, but received 2"),
        (
            ResourceType.BROKER_LOGGER,
            "root",
            "Unexpected node id. Expected 1, but received 2",
        ),
    ],
)
def test_configs_of_another_broker_are_to_be_changed_there(
    client: WireClient, kind: int, name: str, reason: str
) -> None:
    answer = change(client, kind, "2", Change(name, "5"))

    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, reason)


def test_lists_grow_and_shrink(client: WireClient, topic: Topic) -> None:
    change(client, ResourceType.TOPIC, topic.name, Change("cleanup.policy", "compact", APPEND))
    expect(client, topic, "cleanup.policy", "delete,compact", DYNAMIC_TOPIC)

    change(client, ResourceType.TOPIC, topic.name, Change("cleanup.policy", "delete", SUBTRACT))
    expect(client, topic, "cleanup.policy", "compact", DYNAMIC_TOPIC)


def test_a_trial_changes_nothing(client: WireClient, topic: Topic) -> None:
    setting = Change("retention.ms", "5000")

    assert change(client, ResourceType.TOPIC, topic.name, setting, dry=True).error_code == 0
    assert value_of(client, topic, "retention.ms") == ("604800000", DEFAULT)


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
