"""Configs of a broker are changed by way of that broker: others refuse them before the controller is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage
from klamm.metadata.resource_type import ResourceType


def dynamic_configs(image: ClusterImage, node_id: int) -> dict[str, str]:
    """What was set while the cluster runs and holds for this node: for all brokers, covered by what is for this one."""
    return {
        **image.config(ResourceType.BROKER, ""),
        **image.config(ResourceType.BROKER, str(node_id)),
    }


class Resource(Protocol):
    resource_type: int
    resource_name: str


def refused_here(resources: Sequence[Resource], node_id: int) -> dict[int, ApiError]:
    """The places of those that another node must be asked for. What is named twice is left to the controller."""
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    refused = {}
    for at, each in enumerate(resources):
        is_once = times[each.resource_type, each.resource_name] == 1
        error = _why_not_here(each, node_id) if is_once else None
        if error is not None:
            refused[at] = error
    return refused


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
