"""ListConfigResources, API 74."""

from klamm.protocol.declare import Array, Int8, Int16, Int32, String, field, message, struct


@message(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    """Ask for the names of resources that have configurations of their own."""

    resource_types: Array[Int8] = field(since=1, default=[])


@struct
class ConfigResource:
    resource_name: String = ""
    resource_type: Int8 = field(since=1, default=16)


@message(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    """Resources of the types asked for."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    config_resources: Array[ConfigResource] = []
