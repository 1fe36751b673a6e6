"""ExpireDelegationToken (40), v1-2: less time for a token, or none."""

from __future__ import annotations

from klamm.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from klamm.server.call import Call
from klamm.server.login.token_requests import check_may_ask


async def handle(
    request: ExpireDelegationTokenRequest, call: Call
) -> ExpireDelegationTokenResponse:
    check_may_ask(call)
    answer: ExpireDelegationTokenResponse = await call.forward(request)
    return answer
