"""Bodies of control records, of the two ends of a snapshot, and of a forwarded principal."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    Int64,
    String,
    UInt16,
    field,
    message,
    struct,
)


@message(versions="0")
class ControlRecordTypeSchema:
    """The key of a control record, after its version."""

    type: Int16 = 0


@message(versions="0")
class EndTxnMarker:
    """Ends a transaction in a partition; whether it commits or aborts stands in the key."""

    coordinator_epoch: Int32 = 0


@struct
class LeaderChangeMessageVoter:
    voter_id: Int32 = 0
    voter_directory_id: Uuid = field(since=1, default=ZERO_UUID)


@message(versions="0-1", flexible="0+")
class LeaderChangeMessage:
    """A quorum leader opens its epoch with this record."""

    version: Int16 = 0
    leader_id: Int32 = 0
    voters: Array[LeaderChangeMessageVoter] = []
    granting_voters: Array[LeaderChangeMessageVoter] = []


@message(versions="0", flexible="0+")
class SnapshotHeaderRecord:
    """The first record of a metadata snapshot."""

    version: Int16 = 0
    last_contained_log_timestamp: Int64 = 0


@message(versions="0", flexible="0+")
class SnapshotFooterRecord:
    """The last record of a metadata snapshot; without it the snapshot is not whole."""

    version: Int16 = 0


@message(versions="0", flexible="0+")
class KRaftVersionRecord:
    """Sets the version of the quorum protocol."""

    version: Int16 = 0
    kraft_version: Int16 = 0


@struct
class Endpoint:
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@struct
class KRaftVersionFeature:
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@struct
class VotersRecordVoter:
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID
    endpoints: Array[Endpoint] = []
    kraft_version_feature: KRaftVersionFeature = field(factory=KRaftVersionFeature)


@message(versions="0", flexible="0+")
class VotersRecord:
    """The set of voters from this record on, where it can change at run time."""

    version: Int16 = 0
    voters: Array[VotersRecordVoter] = []


@message(versions="0", flexible="0+")
class DefaultPrincipalData:
    """A user as one broker describes it to another inside an envelope."""

    type: String = ""
    name: String = ""
    token_authenticated: Bool = False
