"""DescribeUserScramCredentials, API 50."""

from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@struct
class UserName:
    name: String = ""


@message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """Ask which SCRAM mechanisms users have credentials for; never the credentials themselves."""

    users: NullableArray[UserName] = []


@struct
class CredentialInfo:
    mechanism: Int8 = 0
    iterations: Int32 = 0


@struct
class DescribeUserScramCredentialsResult:
    user: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""
    credential_infos: Array[CredentialInfo] = []


@message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    """Mechanisms and iteration counts for each user."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    results: Array[DescribeUserScramCredentialsResult] = []
