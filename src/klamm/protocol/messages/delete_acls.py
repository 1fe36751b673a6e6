"""DeleteAcls, API 31."""

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


@struct
class DeleteAclsFilter:
    resource_type_filter: Int8 = 0
    resource_name_filter: NullableString = ""
    pattern_type_filter: Int8 = 3
    principal_filter: NullableString = ""
    host_filter: NullableString = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(api_key=31, versions="1-3", flexible="2+")
class DeleteAclsRequest:
    """Remove all access rules that match one of the filters."""

    filters: Array[DeleteAclsFilter] = []


@struct
class DeleteAclsMatchingAcl:
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@struct
class DeleteAclsFilterResult:
    error_code: Int16 = 0
    error_message: NullableString = ""
    matching_acls: Array[DeleteAclsMatchingAcl] = []


@message(api_key=31, versions="1-3", flexible="2+")
class DeleteAclsResponse:
    """Per filter the rules that it removed."""

    throttle_time_ms: Int32 = 0
    filter_results: Array[DeleteAclsFilterResult] = []
