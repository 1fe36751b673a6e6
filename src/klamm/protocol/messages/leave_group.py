"""LeaveGroup, API 13."""

from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class MemberIdentity:
    member_id: String = ""
    group_instance_id: NullableString = None
    reason: NullableString = field(since=5, default=None)


@message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest:
    """Members leave a group, by themselves or on the word of an administrator."""

    group_id: String = ""
    member_id: String = field(until=2, default="")
    members: Array[MemberIdentity] = field(since=3, default=[])


@struct
class MemberResponse:
    member_id: String = ""
    group_instance_id: NullableString = ""
    error_code: Int16 = 0


@message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse:
    """The outcome for each member that was to leave."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    error_code: Int16 = 0
    members: Array[MemberResponse] = field(since=3, default=[])
