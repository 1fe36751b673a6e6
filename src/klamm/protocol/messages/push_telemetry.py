"""PushTelemetry, API 72."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Bool, Bytes, Int8, Int16, Int32, message


@message(api_key=72, versions="0", flexible="0+")
class PushTelemetryRequest:
    """A client sends its metrics."""

    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    terminating: Bool = False
    compression_type: Int8 = 0
    metrics: Bytes = b""


@message(api_key=72, versions="0", flexible="0+")
class PushTelemetryResponse:
    """Whether the metrics were taken."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
