"""SaslHandshake (17), v0-1: which mechanism the client wants to log in with.

v0  the tokens follow bare, in frames of their own
v1  they follow in SaslAuthenticate
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from klamm.server.call import Call
from klamm.server.network.pending import PARKED, Parked


async def handle(request: SaslHandshakeRequest, call: Call) -> SaslHandshakeResponse | Parked:
    connection = call.connection
    login = connection.login
    if login is None:
        # A listener that asks nobody for a name.
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    error = login.handshake(connection, request.mechanism, is_bare=call.version == 0)
    response = SaslHandshakeResponse(error_code=error, mechanisms=list(login.mechanisms))
    if error is not ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return response
    call.finish(response)
    connection.close()
    return PARKED
