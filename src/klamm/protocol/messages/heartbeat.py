"""Heartbeat, API 12."""

from klamm.protocol.declare import Int16, Int32, NullableString, String, field, message


@message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatRequest:
    """A member says it is alive; the answer tells it whether to rejoin."""

    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: NullableString = field(since=3, default=None)


@message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatResponse:
    """Whether the member still belongs to the current generation."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    error_code: Int16 = 0
