"""CreateDelegationToken (38), v1-3: a new token, for the caller or for another owner."""

from __future__ import annotations

from klamm.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from klamm.server.authorization.rights import CREATE_TOKENS
from klamm.server.call import Call
from klamm.server.login.token_requests import check_may_ask


async def handle(
    request: CreateDelegationTokenRequest, call: Call
) -> CreateDelegationTokenResponse:
    check_may_ask(call)
    owner = request.owner_principal_name
    if owner:
        # In somebody else's name: only with a right over that user.
        named = f"{request.owner_principal_type or 'User'}:{owner}"
        if named != str(call.principal):
            call.require(CREATE_TOKENS, named)
    answer: CreateDelegationTokenResponse = await call.forward(request)
    return answer
