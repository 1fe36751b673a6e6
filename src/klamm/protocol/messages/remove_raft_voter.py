"""RemoveRaftVoter, API 81."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Int16, Int32, NullableString, message


@message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest:
    """Remove a voter from the metadata quorum."""

    cluster_id: NullableString = ""
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID


@message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse:
    """Whether the voter was removed."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
