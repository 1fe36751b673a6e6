"""ListConfigResources: what can have configs. Expectations hold for Apache Kafka 4.3.1 as well."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.list_config_resources import ListConfigResourcesRequest
from server.asking import Topic
from server.wire_client import WireClient


def resources(client: WireClient, *types: int, version: int | None = None) -> set[tuple[int, str]]:
    answer = client.ask(ListConfigResourcesRequest(resource_types=list(types)), version)
    assert answer.error_code == 0
    return {(each.resource_type, each.resource_name) for each in answer.config_resources}


def test_all_kinds_are_listed_when_none_is_named(client: WireClient, topic: Topic) -> None:
    found = resources(client)

    assert (ResourceType.TOPIC, topic.name) in found
    assert (ResourceType.BROKER, "1") in found
    assert (ResourceType.BROKER_LOGGER, "1") in found


def test_only_the_kinds_that_are_named_are_listed(client: WireClient, topic: Topic) -> None:
    assert resources(client, ResourceType.BROKER) == {(ResourceType.BROKER, "1")}
    assert {kind for kind, _ in resources(client, ResourceType.TOPIC)} == {ResourceType.TOPIC}


def test_the_first_version_lists_client_metrics_only(client: WireClient, topic: Topic) -> None:
    assert resources(client, version=0) == set()


@pytest.mark.parametrize("types", [[99], [ResourceType.TOPIC, 99]])
def test_a_kind_that_does_not_exist_is_refused(client: WireClient, types: list[int]) -> None:
    answer = client.ask(ListConfigResourcesRequest(resource_types=types))

    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])
