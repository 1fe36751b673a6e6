"""RenewDelegationToken (39), v1-2: more time for a token."""

from __future__ import annotations

from klamm.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from klamm.server.call import Call
from klamm.server.login.token_requests import check_may_ask


async def handle(request: RenewDelegationTokenRequest, call: Call) -> RenewDelegationTokenResponse:
    check_may_ask(call)
    answer: RenewDelegationTokenResponse = await call.forward(request)
    return answer
