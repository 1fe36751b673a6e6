"""DescribeConfigs: values, where they come from, and what else they could be."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from server.asking import Topic
from server.conftest import set_config
from server.handlers.configs import DEFAULT, DYNAMIC_TOPIC, describe, expect
from server.wire_client import WireClient

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


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
