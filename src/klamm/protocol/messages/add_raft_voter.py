"""AddRaftVoter, API 80."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class Listener:
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@message(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest:
    """Add a voter to the metadata quorum."""

    cluster_id: NullableString = ""
    timeout_ms: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: Array[Listener] = []
    ack_when_committed: Bool = field(since=1, default=True)


@message(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse:
    """Whether the voter was added."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
