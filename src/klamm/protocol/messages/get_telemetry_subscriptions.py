"""GetTelemetrySubscriptions, API 71."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Bool, Int8, Int16, Int32, String, message


@message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    """A client asks which of its metrics the broker wants."""

    client_instance_id: Uuid = ZERO_UUID


@message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse:
    """The wanted metrics, how often to push them and in which form."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    accepted_compression_types: Array[Int8] = []
    push_interval_ms: Int32 = 0
    telemetry_max_bytes: Int32 = 0
    delta_temporality: Bool = False
    requested_metrics: Array[String] = []
