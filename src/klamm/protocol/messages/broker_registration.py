"""BrokerRegistration, API 62."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class Listener:
    name: String = ""
    host: String = ""
    port: UInt16 = 0
    security_protocol: Int16 = 0


@struct
class Feature:
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    """A broker that starts makes itself known to the controller."""

    broker_id: Int32 = 0
    cluster_id: String = ""
    incarnation_id: Uuid = ZERO_UUID
    listeners: Array[Listener] = []
    features: Array[Feature] = []
    rack: NullableString = ""
    is_migrating_zk_broker: Bool = field(since=1, default=False)
    log_dirs: Array[Uuid] = field(since=2, default=[])
    previous_broker_epoch: Int64 = field(since=3, default=-1)


@message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse:
    """The broker's new epoch."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    broker_epoch: Int64 = -1
