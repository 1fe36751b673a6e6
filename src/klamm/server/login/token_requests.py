"""Who may ask about delegation tokens: somebody with a name, that was not itself shown with a token."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.principal import ANONYMOUS
from klamm.server.call import Call


def check_may_ask(call: Call) -> None:
    if call.principal == ANONYMOUS or call.principal.is_token:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
