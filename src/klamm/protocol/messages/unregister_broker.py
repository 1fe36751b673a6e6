"""UnregisterBroker, API 64."""

from klamm.protocol.declare import Int16, Int32, NullableString, message


@message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest:
    """Forget a broker that will not come back."""

    broker_id: Int32 = 0


@message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse:
    """Whether the broker was forgotten."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
