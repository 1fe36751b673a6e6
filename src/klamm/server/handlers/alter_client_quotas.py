"""AlterClientQuotas (49), v0-1: how much users, client ids and addresses may ask for."""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from klamm.server.authorization.rights import ALTER_CLUSTER_CONFIGS
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: AlterClientQuotasRequest, call: Call) -> AlterClientQuotasResponse:
    call.require(ALTER_CLUSTER_CONFIGS)
    refuse_too_many(sum(1 + len(entry.ops) for entry in request.entries))
    answer: AlterClientQuotasResponse = await call.forward(request)
    return answer


def fail(
    request: AlterClientQuotasRequest, error: ApiError, version: int
) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=error.code, error_message=error.message, entity=entry.entity
            )
            for entry in request.entries
        ]
    )
