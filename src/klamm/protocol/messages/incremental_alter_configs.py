"""IncrementalAlterConfigs, API 44."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    message,
    struct,
)


@struct
class AlterableConfig:
    name: String = ""
    config_operation: Int8 = 0
    value: NullableString = ""


@struct
class AlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Array[AlterableConfig] = []


@message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    """Change single settings of resources: set, delete, append to a list or subtract from it."""

    resources: Array[AlterConfigsResource] = []
    validate_only: Bool = False


@struct
class AlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""


@message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse:
    """The outcome for each resource."""

    throttle_time_ms: Int32 = 0
    responses: Array[AlterConfigsResourceResponse] = []
