"""AlterUserScramCredentials, API 51."""

from klamm.protocol.declare import (
    Array,
    Bytes,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    message,
    struct,
)


@struct
class ScramCredentialDeletion:
    name: String = ""
    mechanism: Int8 = 0


@struct
class ScramCredentialUpsertion:
    name: String = ""
    mechanism: Int8 = 0
    iterations: Int32 = 0
    salt: Bytes = b""
    salted_password: Bytes = b""


@message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """Add, replace or delete SCRAM credentials of users."""

    deletions: Array[ScramCredentialDeletion] = []
    upsertions: Array[ScramCredentialUpsertion] = []


@struct
class AlterUserScramCredentialsResult:
    user: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""


@message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    """The outcome for each user."""

    throttle_time_ms: Int32 = 0
    results: Array[AlterUserScramCredentialsResult] = []
