"""RenewDelegationToken, API 39."""

from klamm.protocol.declare import Bytes, Int16, Int32, Int64, message


@message(api_key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest:
    """Give a delegation token more time before it expires."""

    hmac: Bytes = b""
    renew_period_ms: Int64 = 0


@message(api_key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenResponse:
    """When the token expires now."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
