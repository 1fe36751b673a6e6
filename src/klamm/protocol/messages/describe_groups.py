"""DescribeGroups, API 15."""

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


@message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest:
    """Ask for the state and members of classic groups."""

    groups: Array[String] = []
    include_authorized_operations: Bool = field(since=3, default=False)


@struct
class DescribedGroupMember:
    member_id: String = ""
    group_instance_id: NullableString = field(since=4, default=None)
    client_id: String = ""
    client_host: String = ""
    member_metadata: Bytes = b""
    member_assignment: Bytes = b""


@struct
class DescribedGroup:
    error_code: Int16 = 0
    error_message: NullableString = field(since=6, default=None)
    group_id: String = ""
    group_state: String = ""
    protocol_type: String = ""
    protocol_data: String = ""
    members: Array[DescribedGroupMember] = []
    authorized_operations: Int32 = field(since=3, default=-0x80000000)


@message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse:
    """State, protocol and members of each group."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    groups: Array[DescribedGroup] = []
