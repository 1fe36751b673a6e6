"""Access rules, credentials and tokens."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Bytes, Int8, Int32, Int64, String, message


@message(api_key=18, versions="0", flexible="0+")
class AccessControlEntryRecord:
    """An access rule."""

    id: Uuid = ZERO_UUID
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = 0
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(api_key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    """An access rule is gone."""

    id: Uuid = ZERO_UUID


@message(api_key=11, versions="0", flexible="0+")
class UserScramCredentialRecord:
    """A user's SCRAM credential for one mechanism."""

    name: String = ""
    mechanism: Int8 = 0
    salt: Bytes = b""
    stored_key: Bytes = b""
    server_key: Bytes = b""
    iterations: Int32 = 0


@message(api_key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    """A user's SCRAM credential is gone."""

    name: String = ""
    mechanism: Int8 = 0


@message(api_key=10, versions="0", flexible="0+")
class DelegationTokenRecord:
    """A delegation token, new or renewed."""

    owner: String = ""
    requester: String = ""
    renewers: Array[String] = []
    issue_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    expiration_timestamp: Int64 = 0
    token_id: String = ""


@message(api_key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    """A delegation token is gone."""

    token_id: String = ""
