"""JoinGroup, API 11."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Bytes,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class JoinGroupRequestProtocol:
    name: String = ""
    metadata: Bytes = b""


@message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupRequest:
    """Enter a group, or enter it again for a new round.

    Lists the protocols that the member can follow.
    """

    group_id: String = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Int32 = field(since=1, default=-1)
    member_id: String = ""
    group_instance_id: NullableString = field(since=5, default=None)
    protocol_type: String = ""
    protocols: Array[JoinGroupRequestProtocol] = []
    reason: NullableString = field(since=8, default=None)


@struct
class JoinGroupResponseMember:
    member_id: String = ""
    group_instance_id: NullableString = field(since=5, default=None)
    metadata: Bytes = b""


@message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupResponse:
    """The round has closed: the member's id and generation.

    The leader gets the list of all members.
    """

    throttle_time_ms: Int32 = field(since=2, default=0)
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: NullableString = field(since=7, default=None)
    protocol_name: NullableString = field(nullable_since=7, default="")
    leader: String = ""
    skip_assignment: Bool = field(since=9, default=False)
    member_id: String = ""
    members: Array[JoinGroupResponseMember] = []
