"""DescribeDelegationToken, API 41."""

from klamm.protocol.declare import (
    Array,
    Bytes,
    Int16,
    Int32,
    Int64,
    NullableArray,
    String,
    field,
    message,
    struct,
)


@struct
class DescribeDelegationTokenOwner:
    principal_type: String = ""
    principal_name: String = ""


@message(api_key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest:
    """Ask for the delegation tokens of some owners."""

    owners: NullableArray[DescribeDelegationTokenOwner] = []


@struct
class DescribedDelegationTokenRenewer:
    principal_type: String = ""
    principal_name: String = ""


@struct
class DescribedDelegationToken:
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: String = field(since=3, default="")
    token_requester_principal_name: String = field(since=3, default="")
    issue_timestamp: Int64 = 0
    expiry_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    renewers: Array[DescribedDelegationTokenRenewer] = []


@message(api_key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenResponse:
    """Tokens that the caller may see, with owners, renewers and times."""

    error_code: Int16 = 0
    tokens: Array[DescribedDelegationToken] = []
    throttle_time_ms: Int32 = 0
