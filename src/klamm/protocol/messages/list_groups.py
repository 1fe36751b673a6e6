"""ListGroups, API 16."""

from klamm.protocol.declare import Array, Int16, Int32, String, field, message, struct


@message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsRequest:
    """Ask which groups a broker coordinates, with optional filters by state and type."""

    states_filter: Array[String] = field(since=4, default=[])
    types_filter: Array[String] = field(since=5, default=[])


@struct
class ListedGroup:
    group_id: String = ""
    protocol_type: String = ""
    group_state: String = field(since=4, default="")
    group_type: String = field(since=5, default="")


@message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsResponse:
    """The groups that this broker coordinates."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    error_code: Int16 = 0
    groups: Array[ListedGroup] = []
