"""CreateDelegationToken, API 38."""

from klamm.protocol.declare import (
    Array,
    Bytes,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class CreatableRenewers:
    principal_type: String = ""
    principal_name: String = ""


@message(api_key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest:
    """Issue a delegation token."""

    owner_principal_type: NullableString = field(since=3, default="")
    owner_principal_name: NullableString = field(since=3, default="")
    renewers: Array[CreatableRenewers] = []
    max_lifetime_ms: Int64 = 0


@message(api_key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenResponse:
    """The new token with its secret and its times."""

    error_code: Int16 = 0
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: String = field(since=3, default="")
    token_requester_principal_name: String = field(since=3, default="")
    issue_timestamp_ms: Int64 = 0
    expiry_timestamp_ms: Int64 = 0
    max_timestamp_ms: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    throttle_time_ms: Int32 = 0
