"""Envelope, API 58."""

from klamm.protocol.declare import Bytes, Int16, NullableBytes, message


@message(api_key=58, versions="0", flexible="0+")
class EnvelopeRequest:
    """A broker passes on a client's request to the controller, in the client's name."""

    request_data: Bytes = b""
    request_principal: NullableBytes = b""
    client_host_address: Bytes = b""


@message(api_key=58, versions="0", flexible="0+")
class EnvelopeResponse:
    """The controller's answer, wrapped for the broker that forwarded the request."""

    response_data: NullableBytes = None
    error_code: Int16 = 0
