"""SaslAuthenticate, API 36."""

from klamm.protocol.declare import Bytes, Int16, Int64, NullableString, field, message


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    """Carry one step of the SASL exchange."""

    auth_bytes: Bytes = b""


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    """The server's step of the exchange, and how long the session may last."""

    error_code: Int16 = 0
    error_message: NullableString = ""
    auth_bytes: Bytes = b""
    session_lifetime_ms: Int64 = field(since=1, default=0)
