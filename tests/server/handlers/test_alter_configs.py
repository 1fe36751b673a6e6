"""AlterConfigs: the old way, which replaces all configs of a resource."""

import pytest

from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages import alter_configs
from klamm.protocol.messages.alter_configs import AlterConfigsRequest
from server.asking import Topic
from server.conftest import set_config
from server.handlers.configs import DEFAULT, DYNAMIC_TOPIC, expect
from server.wire_client import WireClient


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
