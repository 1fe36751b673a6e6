"""DeleteAcls (31), v1-3: take away the access rules that match a filter.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    call.require_authorizer()
    call.require(ALTER_CLUSTER)
    refuse_too_many(len(request.filters))
    answer: DeleteAclsResponse = await call.forward(request)
    return answer


def fail(request: DeleteAclsRequest, error: ApiError, version: int) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
            for _ in request.filters
        ]
    )
