"""DescribeAcls, API 29."""

from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    message,
    struct,
)


@message(api_key=29, versions="1-3", flexible="2+")
class DescribeAclsRequest:
    """Ask for the access rules that match a filter."""

    resource_type_filter: Int8 = 0
    resource_name_filter: NullableString = ""
    pattern_type_filter: Int8 = 3
    principal_filter: NullableString = ""
    host_filter: NullableString = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@struct
class AclDescription:
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@struct
class DescribeAclsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = 3
    acls: Array[AclDescription] = []


@message(api_key=29, versions="1-3", flexible="2+")
class DescribeAclsResponse:
    """Matching access rules, grouped by resource."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    resources: Array[DescribeAclsResource] = []
