"""Configs of a broker are changed by way of that broker: others refuse them before the controller is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from klamm.base.acl import AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage
from klamm.metadata.resource_type import ResourceType
from klamm.server.authorization.rights import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_GROUP_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_GROUP_CONFIGS,
    DESCRIBE_TOPIC_CONFIGS,
    Right,
)
from klamm.server.call import Call


def dynamic_configs(image: ClusterImage, node_id: int) -> dict[str, str]:
    """What was set while the cluster runs and holds for this node: for all brokers, covered by what is for this one."""
    return {
        **image.config(ResourceType.BROKER, ""),
        **image.config(ResourceType.BROKER, str(node_id)),
    }


class Resource(Protocol):
    resource_type: int
    resource_name: str


def refused_here(resources: Sequence[Resource], call: Call) -> dict[int, ApiError]:
    """The places of those that another node must be asked for, and of those that the client may not change.

    What is named twice is left to the controller.
    """
    is_controller = call.connection.listener.is_controller
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    refused = {}
    for at, each in enumerate(resources):
        is_once = times[each.resource_type, each.resource_name] == 1
        if not is_once:
            continue
        error = None if is_controller else _why_not_here(each, call.context.node_id)
        error = error or _why_denied(each, call)
        if error is not None:
            refused[at] = error
    return refused


def _why_denied(resource: Resource, call: Call) -> ApiError | None:
    right = ALTERING.get(resource.resource_type)
    if right is None or may_with(call, right, resource.resource_name):
        return None
    return ApiError(right.error)


def may_with(call: Call, right: Right, name: str) -> bool:
    """Configs of brokers and of metrics are the cluster's, whatever their name."""
    if right.resource_type == AclResourceType.CLUSTER:
        return call.may(right)
    return call.may(right, name)


# What is needed to see, and to change, the configs of each.
DESCRIBING: Mapping[int, Right] = {
    ResourceType.TOPIC: DESCRIBE_TOPIC_CONFIGS,
    ResourceType.GROUP: DESCRIBE_GROUP_CONFIGS,
    ResourceType.BROKER: DESCRIBE_CLUSTER_CONFIGS,
    ResourceType.BROKER_LOGGER: DESCRIBE_CLUSTER_CONFIGS,
    ResourceType.CLIENT_METRICS: DESCRIBE_CLUSTER_CONFIGS,
}
ALTERING: Mapping[int, Right] = {
    ResourceType.TOPIC: ALTER_TOPIC_CONFIGS,
    ResourceType.GROUP: ALTER_GROUP_CONFIGS,
    ResourceType.BROKER: ALTER_CLUSTER_CONFIGS,
    ResourceType.BROKER_LOGGER: ALTER_CLUSTER_CONFIGS,
    ResourceType.CLIENT_METRICS: ALTER_CLUSTER_CONFIGS,
}


def _why_not_here(resource: Resource, node_id: int) -> ApiError | None:
    kind, name = resource.resource_type, resource.resource_name
    if kind == ResourceType.BROKER and name:
        expected = f"Unexpected broker id, expected {node_id}, but received {name}"
    elif kind == ResourceType.BROKER_LOGGER:
        expected = f"Unexpected node id. Expected {node_id}, but received {name}"
    else:
        return None
    try:
        is_here = int(name) == node_id
    except ValueError:
        # The controller has the word for it.
        return None
    return None if is_here else ApiError(ErrorCode.INVALID_REQUEST, expected)
