"""The headers that stand before every request and response."""

from klamm.protocol.declare import Int16, Int32, NullableString, field, message


@message(versions="1-2", flexible="2+")
class RequestHeader:
    """Opens every request.

    The client id keeps its old encoding in all versions, so that any broker can read it.
    """

    request_api_key: Int16 = 0
    request_api_version: Int16 = 0
    correlation_id: Int32 = 0
    client_id: NullableString = field(compact=False, default="")


@message(versions="0-1", flexible="1+")
class ResponseHeader:
    """Opens every response."""

    correlation_id: Int32 = 0
