"""SaslHandshake, API 17."""

from klamm.protocol.declare import Array, Int16, String, message


@message(api_key=17, versions="0-1")
class SaslHandshakeRequest:
    """Name the SASL mechanism that the client wants to use on this connection."""

    mechanism: String = ""


@message(api_key=17, versions="0-1")
class SaslHandshakeResponse:
    """Whether the mechanism is accepted, and which ones the listener offers."""

    error_code: Int16 = 0
    mechanisms: Array[String] = []
