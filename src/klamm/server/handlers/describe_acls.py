"""DescribeAcls (29), v1-3: the access rules that match a filter, by what they are about."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.acl_filter import matches
from klamm.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from klamm.server.authorization.rights import DESCRIBE_CLUSTER
from klamm.server.call import Call, Steps

# Rules between two moments at which others may be served.
_STEP = 1000


def handle(request: DescribeAclsRequest, call: Call) -> Steps:
    call.require_authorizer()
    call.require(DESCRIBE_CLUSTER)
    if 0 in _numbers(request):
        # Deviation: Kafka closes the connection. Of other numbers that mean nothing it finds nothing.
        raise ApiError(ErrorCode.INVALID_REQUEST, "The filter has elements that are not known.")
    found: dict[tuple[int, int, str], DescribeAclsResource] = {}
    for number, acl in enumerate(call.context.image.acls.values()):
        if number % _STEP == 0:
            yield
        if not matches(acl, request):
            continue
        key = (acl.resource_type, acl.pattern_type, acl.resource_name)
        resource = found.get(key)
        if resource is None:
            resource = found[key] = DescribeAclsResource(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
            )
        resource.acls.append(
            AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return DescribeAclsResponse(error_message=None, resources=list(found.values()))


def _numbers(request: DescribeAclsRequest) -> tuple[int, ...]:
    return (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
