"""ExpireDelegationToken, API 40."""

from klamm.protocol.declare import Bytes, Int16, Int32, Int64, message


@message(api_key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest:
    """Change when a delegation token expires, or end it at once."""

    hmac: Bytes = b""
    expiry_time_period_ms: Int64 = 0


@message(api_key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenResponse:
    """When the token expires now."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
