"""ListConfigResources (74), v0-1: which resources can have configs.

v0  only client-metrics subscriptions, whatever is asked
v1  the types that are asked for, all if none is named (KIP-1142)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from klamm.server.authorization.rights import DESCRIBE_CLUSTER_CONFIGS
from klamm.server.call import Call

_ALL = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle(request: ListConfigResourcesRequest, call: Call) -> ListConfigResourcesResponse:
    call.require(DESCRIBE_CLUSTER_CONFIGS)
    asked = set(request.resource_types) or set(_ALL)
    if call.version == 0:
        asked = {ResourceType.CLIENT_METRICS}
    if asked - set(_ALL):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in _ALL
            if kind in asked
            for name in _names(kind, call.broker.image)
        ]
    )


def _names(kind: ResourceType, image: ClusterImage) -> list[str]:
    if kind == ResourceType.TOPIC:
        return list(image.topics_by_name)
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(broker_id) for broker_id in image.brokers]
    return [key.resource_name for key in image.configs if key.resource_type == kind]
