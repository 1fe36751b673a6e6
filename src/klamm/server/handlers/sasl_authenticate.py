"""SaslAuthenticate (36), v0-2: one step of a login. Whoever fails hears why, and is closed.

v1  how long the session will last
v2  flexible
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from klamm.server.call import Call
from klamm.server.network.pending import PARKED, Parked


async def handle(request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse | Parked:
    connection = call.connection
    if connection.login is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    try:
        token, lifetime_ms = await connection.login.authenticate(
            connection, bytes(request.auth_bytes)
        )
    except ApiError as e:
        response = SaslAuthenticateResponse(error_code=e.code, error_message=e.message)
        if e.code != ErrorCode.SASL_AUTHENTICATION_FAILED:
            return response
        call.finish(response)
        connection.close()
        return PARKED
    return SaslAuthenticateResponse(
        error_message=None, auth_bytes=token, session_lifetime_ms=lifetime_ms
    )
