"""Classic groups and committed offsets, as they stand in __consumer_offsets."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bytes,
    Int32,
    Int64,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=0, versions="0")
class LegacyOffsetCommitKey:
    """Key of a committed offset, as old brokers wrote it."""

    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(api_key=0, versions="0")
class LegacyOffsetCommitValue:
    """A committed offset, as old brokers wrote it."""

    offset: Int64 = 0
    metadata: String = ""
    commit_timestamp: Int64 = 0


@message(api_key=1, versions="0")
class OffsetCommitKey:
    """Key of a committed offset."""

    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(api_key=1, versions="0-4", flexible="4+")
class OffsetCommitValue:
    """A committed offset."""

    offset: Int64 = 0
    leader_epoch: Int32 = field(since=3, default=-1)
    metadata: String = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Int64 = field(since=1, until=1, default=-1)
    topic_id: Uuid = field(since=4, tag=0, default=ZERO_UUID)


@message(api_key=2, versions="0")
class GroupMetadataKey:
    """Key of a classic group."""

    group: String = ""


@struct
class MemberMetadata:
    member_id: String = ""
    group_instance_id: NullableString = field(since=3, default=None)
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout: Int32 = field(since=1, default=-1)
    session_timeout: Int32 = 0
    subscription: Bytes = b""
    assignment: Bytes = b""


@message(api_key=2, versions="0-4", flexible="4+")
class GroupMetadataValue:
    """A classic group at the end of a round: generation, protocol, members and assignments."""

    protocol_type: String = ""
    generation: Int32 = 0
    protocol: NullableString = ""
    leader: NullableString = ""
    current_state_timestamp: Int64 = field(since=2, default=-1)
    members: Array[MemberMetadata] = []
