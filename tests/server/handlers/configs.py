"""Short ways to change a config and to look at it."""

from typing import Any, NamedTuple

from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages import incremental_alter_configs
from klamm.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from klamm.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from server.asking import Topic
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
