"""DescribeConfigs (32), v1-4: the settings of topics, brokers, groups and client-metrics subscriptions.

v3  the type of each setting, and its documentation if asked for
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings import describe
from klamm.base.settings.describe import Entry, Layers
from klamm.controller.names import problem_of_name
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from klamm.server.call import Call, Steps
from klamm.server.heavy.long_list import LongList
from klamm.server.metadata.config_resources import DESCRIBING, may_with


def handle(request: DescribeConfigsRequest, call: Call) -> Steps:
    broker = call.context
    layers = Layers(
        broker.settings,
        broker.image.config(ResourceType.BROKER, str(broker.node_id)),
        broker.image.config(ResourceType.BROKER, ""),
    )
    # A request of a few bytes for each resource, an answer of many thousands: it is never there as objects.
    results = LongList(
        DescribeConfigsResponse(),
        "results",
        call.version,
        max_bytes=broker.settings.network.socket_request_max_bytes,
    )
    for asked in request.resources:
        results.add(_describe(request, asked, call, layers))
        yield
    return results.finish()


def _describe(
    request: DescribeConfigsRequest, asked: DescribeConfigsResource, call: Call, layers: Layers
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message=None, resource_type=asked.resource_type, resource_name=asked.resource_name
    )
    try:
        right = DESCRIBING.get(asked.resource_type)
        if right is not None and not may_with(call, right, asked.resource_name):
            raise ApiError(right.error)
        entries = _entries(asked, call, layers)
    except ApiError as e:
        result.error_code, result.error_message = e.code, e.message
        return result
    keys = frozenset(asked.configuration_keys or ())
    result.configs = [
        _worded(entry, request) for entry in entries if not keys or entry.name in keys
    ]
    return result


def _entries(asked: DescribeConfigsResource, call: Call, layers: Layers) -> list[Entry]:
    broker, image, name = call.context, call.context.image, asked.resource_name
    match asked.resource_type:
        case ResourceType.TOPIC:
            _check_topic(name, call)
            return describe.describe_topic(image.config(ResourceType.TOPIC, name), layers)
        case ResourceType.BROKER if not name:
            return describe.describe_cluster(layers.cluster)
        case ResourceType.BROKER:
            _check_broker(name, broker.node_id)
            return describe.describe_broker(layers)
        case ResourceType.GROUP if name:
            return describe.describe_group(image.config(ResourceType.GROUP, name), layers)
        case ResourceType.CLIENT_METRICS if name:
            return describe.describe_client_metrics(image.config(ResourceType.CLIENT_METRICS, name))
        case ResourceType.GROUP:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        case ResourceType.CLIENT_METRICS:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
            )
        case ResourceType.BROKER_LOGGER:
            _check_broker(name, broker.node_id)
            return []
    raise ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {asked.resource_type}")


def _check_topic(name: str, call: Call) -> None:
    if problem := problem_of_name(name):
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if name not in call.context.image.topics_by_name:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _check_broker(name: str, node_id: int) -> None:
    try:
        asked = int(name)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        ) from None
    if asked != node_id:
        text = f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)


def _worded(entry: Entry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in synonyms
        ],
        config_type=entry.kind,
        documentation=entry.documentation if request.include_documentation else None,
    )
