"""CreateAcls, API 30."""

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
class AclCreation:
    resource_type: Int8 = 0
    resource_name: String = ""
    resource_pattern_type: Int8 = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(api_key=30, versions="1-3", flexible="2+")
class CreateAclsRequest:
    """Add access rules."""

    creations: Array[AclCreation] = []


@struct
class AclCreationResult:
    error_code: Int16 = 0
    error_message: NullableString = ""


@message(api_key=30, versions="1-3", flexible="2+")
class CreateAclsResponse:
    """The outcome for each rule, in the order of the request."""

    throttle_time_ms: Int32 = 0
    results: Array[AclCreationResult] = []
