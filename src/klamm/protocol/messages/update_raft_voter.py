"""UpdateRaftVoter, API 82."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
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


@struct
class KRaftVersionFeature:
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest:
    """A voter tells the quorum leader its new endpoints and the versions it can follow."""

    cluster_id: NullableString = ""
    current_leader_epoch: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: Array[Listener] = []
    kraft_version_feature: KRaftVersionFeature = field(factory=KRaftVersionFeature)


@struct
class CurrentLeader:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1
    host: String = ""
    port: Int32 = 0


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse:
    """Whether the update was taken, and who leads."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    current_leader: CurrentLeader = field(tag=0, factory=CurrentLeader)
