"""ControllerRegistration, API 70."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableString,
    String,
    UInt16,
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


@message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    """A controller that starts makes itself known to the active one."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: Bool = False
    listeners: Array[Listener] = []
    features: Array[Feature] = []


@message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse:
    """Whether the registration was accepted."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
