"""CreateAcls (30), v1-3: access rules for users.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    call.require_authorizer()
    call.require(ALTER_CLUSTER)
    refuse_too_many(len(request.creations))
    answer: CreateAclsResponse = await call.forward(request)
    return answer


def fail(request: CreateAclsRequest, error: ApiError, version: int) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=error.code, error_message=error.message)
            for _ in request.creations
        ]
    )
