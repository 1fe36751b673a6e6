"""AlterConfigs, API 33."""

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
    value: NullableString = ""


@struct
class AlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Array[AlterableConfig] = []


@message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest:
    """Replace the whole dynamic configuration of resources: settings not named are reset."""

    resources: Array[AlterConfigsResource] = []
    validate_only: Bool = False


@struct
class AlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""


@message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse:
    """The outcome for each resource."""

    throttle_time_ms: Int32 = 0
    responses: Array[AlterConfigsResourceResponse] = []
