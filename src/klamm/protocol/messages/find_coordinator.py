"""FindCoordinator, API 10."""

from klamm.protocol.declare import (
    Array,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    """Ask which broker coordinates a group, a transaction or a share partition."""

    key: String = field(until=3, default="")
    key_type: Int8 = field(since=1, default=0)
    coordinator_keys: Array[String] = field(since=4, default=[])


@struct
class Coordinator:
    key: String = ""
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    """The coordinator for each key."""

    throttle_time_ms: Int32 = field(since=1, default=0)
    error_code: Int16 = field(until=3, default=0)
    error_message: NullableString = field(since=1, until=3, default="")
    node_id: Int32 = field(until=3, default=0)
    host: String = field(until=3, default="")
    port: Int32 = field(until=3, default=0)
    coordinators: Array[Coordinator] = field(since=4, default=[])
