"""DeleteGroups, API 42."""

from klamm.protocol.declare import Array, Int16, Int32, String, message, struct


@message(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest:
    """Delete groups that have no members."""

    groups_names: Array[String] = []


@struct
class DeletableGroupResult:
    group_id: String = ""
    error_code: Int16 = 0


@message(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse:
    """The outcome for each group."""

    throttle_time_ms: Int32 = 0
    results: Array[DeletableGroupResult] = []
