"""Brokers and controllers of the cluster."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableArray,
    NullableString,
    String,
    UInt16,
    field,
    message,
    struct,
)


@struct
class BrokerEndpoint:
    name: String = ""
    host: String = ""
    port: UInt16 = 0
    security_protocol: Int16 = 0


@struct
class BrokerFeature:
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    """A broker has registered, with its endpoints, features and log directories.

    It begins fenced.
    """

    broker_id: Int32 = 0
    is_migrating_zk_broker: Bool = field(since=2, default=False)
    incarnation_id: Uuid = ZERO_UUID
    broker_epoch: Int64 = 0
    end_points: Array[BrokerEndpoint] = []
    features: Array[BrokerFeature] = []
    rack: NullableString = ""
    fenced: Bool = True
    in_controlled_shutdown: Bool = field(since=1, default=False)
    log_dirs: Array[Uuid] = field(since=3, tag=0, default=[])
    cordoned_log_dirs: NullableArray[Uuid] = field(since=4, tag=1, default=None)


@message(api_key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord:
    """A broker is forgotten."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = 0


@message(api_key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord:
    """What changed in a broker's registration: fenced, about to stop, its log directories."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = 0
    fenced: Int8 = field(tag=0, default=0)
    in_controlled_shutdown: Int8 = field(since=1, tag=1, default=0)
    log_dirs: Array[Uuid] = field(since=2, tag=2, default=[])
    cordoned_log_dirs: NullableArray[Uuid] = field(since=3, tag=3, default=None)


@message(api_key=7, versions="0", flexible="0+")
class FenceBrokerRecord:
    """A broker may no longer lead.

    Kept for old logs; BrokerRegistrationChangeRecord has taken its place.
    """

    id: Int32 = 0
    epoch: Int64 = 0


@message(api_key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord:
    """A broker may lead again.

    Kept for old logs; BrokerRegistrationChangeRecord has taken its place.
    """

    id: Int32 = 0
    epoch: Int64 = 0


@struct
class ControllerEndpoint:
    name: String = ""
    host: String = ""
    port: UInt16 = 0
    security_protocol: Int16 = 0


@struct
class ControllerFeature:
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=27, versions="0", flexible="0+")
class RegisterControllerRecord:
    """A controller has registered, with its endpoints and features."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: Bool = False
    end_points: Array[ControllerEndpoint] = []
    features: Array[ControllerFeature] = []
