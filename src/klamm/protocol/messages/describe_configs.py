"""DescribeConfigs, API 32."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class DescribeConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configuration_keys: NullableArray[String] = []


@message(api_key=32, versions="1-4", flexible="4+")
class DescribeConfigsRequest:
    """Ask for the configuration of topics, brokers, groups and other resources."""

    resources: Array[DescribeConfigsResource] = []
    include_synonyms: Bool = False
    include_documentation: Bool = field(since=3, default=False)


@struct
class DescribeConfigsSynonym:
    name: String = ""
    value: NullableString = ""
    source: Int8 = 0


@struct
class DescribeConfigsResourceResult:
    name: String = ""
    value: NullableString = ""
    read_only: Bool = False
    config_source: Int8 = -1
    is_sensitive: Bool = False
    synonyms: Array[DescribeConfigsSynonym] = []
    config_type: Int8 = field(since=3, default=0)
    documentation: NullableString = field(since=3, default="")


@struct
class DescribeConfigsResult:
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Array[DescribeConfigsResourceResult] = []


@message(api_key=32, versions="1-4", flexible="4+")
class DescribeConfigsResponse:
    """Every setting with its value, where the value comes from, and what it overrides."""

    throttle_time_ms: Int32 = 0
    results: Array[DescribeConfigsResult] = []
