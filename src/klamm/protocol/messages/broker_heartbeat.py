"""BrokerHeartbeat, API 63."""

from klamm.base.ids import Uuid
from klamm.protocol.declare import Array, Bool, Int16, Int32, Int64, NullableArray, field, message


@message(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    """A broker tells the controller that it lives and how far it has read the metadata.

    It may also ask to be fenced, or to be let go.
    """

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    current_metadata_offset: Int64 = 0
    want_fence: Bool = False
    want_shut_down: Bool = False
    offline_log_dirs: Array[Uuid] = field(since=1, tag=0, default=[])
    cordoned_log_dirs: NullableArray[Uuid] = field(since=2, tag=1, default=None)


@message(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse:
    """Whether the broker has caught up, is fenced, and may stop."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    is_caught_up: Bool = False
    is_fenced: Bool = True
    should_shut_down: Bool = False
