"""SyncGroup, API 14."""

from klamm.protocol.declare import (
    Array,
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
class SyncGroupRequestAssignment:
    member_id: String = ""
    assignment: Bytes = b""


@message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupRequest:
    """The leader of a round hands in everybody's assignment; the others ask for their part."""

    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: NullableString = field(since=3, default=None)
    protocol_type: NullableString = field(since=5, default=None)
    protocol_name: NullableString = field(since=5, default=None)
    assignments: Array[SyncGroupRequestAssignment] = []


@message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupResponse:
    """The member's own part of the assignment."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    error_code: Int16 = 0
    protocol_type: NullableString = field(since=5, default=None)
    protocol_name: NullableString = field(since=5, default=None)
    assignment: Bytes = b""
