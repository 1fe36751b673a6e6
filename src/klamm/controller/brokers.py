"""Brokers and controllers make themselves known, start to serve, and leave.

A broker's epoch is the offset at which its registration is written: every later registration has a higher one,
so an older incarnation can be told apart for ever.
"""

from __future__ import annotations

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.controller.fencing import KNOWS_DIRECTORIES
from klamm.controller.heartbeats import Heartbeats
from klamm.controller.partitions.election import without_broker
from klamm.metadata.image import BrokerImage, ClusterImage
from klamm.metadata.records.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from klamm.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

# Ids below this number say something else than where a replica is: nowhere yet, lost, not known.
_FIRST_DIRECTORY = 100


def register_controller(
    context: Context, request: ControllerRegistrationRequest
) -> Decision[ControllerRegistrationResponse]:
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=request.zk_migration_ready,
        end_points=[
            ControllerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ],
        features=[
            ControllerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
    )
    return Decision(ControllerRegistrationResponse(error_message=None), [record])


def register(
    context: Context, heartbeats: Heartbeats, request: BrokerRegistrationRequest, now: Ms
) -> Decision[BrokerRegistrationResponse]:
    """A broker begins fenced. What its earlier incarnation still held is taken from it first.

    The same incarnation may register again, for instance when it did not hear the answer: it stays what it is.
    """
    image = context.image
    earlier = image.brokers.get(request.broker_id)
    _check_cluster(image, request)
    is_same = earlier is not None and earlier.incarnation_id == request.incarnation_id
    is_gone = earlier is not None and _took_the_place_of(earlier, request)
    if earlier is not None and not is_same and not is_gone and heartbeats.is_alive(earlier, now):
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker is registered with id {request.broker_id}, and its session has not ended.",
        )
    _check_directories(image, request)
    _check_features(image, request)
    epoch = image.offset + 1
    records: list[object] = []
    record = _registration(request, epoch)
    if earlier is not None and is_same:
        epoch = record.broker_epoch = earlier.epoch
        record.fenced = earlier.is_fenced
        record.in_controlled_shutdown = earlier.in_controlled_shutdown
        record.cordoned_log_dirs = list(earlier.cordoned_directories) or None
    else:
        is_clean = earlier is not None and request.previous_broker_epoch == earlier.epoch
        records += without_broker(context, request.broker_id, has_crashed=not is_clean)
    records.append(record)
    heartbeats.register(request.broker_id, epoch, image.offset + len(records), now)
    return Decision(BrokerRegistrationResponse(broker_epoch=epoch), records)


def unregister(
    context: Context, heartbeats: Heartbeats, request: UnregisterBrokerRequest
) -> Decision[UnregisterBrokerResponse]:
    """A broker that will not come back is forgotten. Its replicas stay assigned to it: whoever wants them elsewhere
    reassigns them."""
    broker = context.image.brokers.get(request.broker_id)
    if broker is None:
        text = f"Broker ID {request.broker_id} is not currently registered"
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, text)
    # Nobody knows what it still has: it is no longer counted on.
    records: list[object] = list(without_broker(context, broker.broker_id, has_crashed=True))
    records.append(UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.epoch))
    heartbeats.forget(broker.broker_id)
    return Decision(UnregisterBrokerResponse(), records)


def _took_the_place_of(earlier: BrokerImage, request: BrokerRegistrationRequest) -> bool:
    """Only one process can listen at an address: who has that of an earlier incarnation has outlived it."""
    # Deviation: Kafka waits until the earlier one's session has ended.
    own = {(each.host, each.port) for each in request.listeners}
    return any((each.host, each.port) in own for each in earlier.endpoints)


def _check_cluster(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != image.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {image.cluster_id}, but got cluster ID {request.cluster_id}",
        )


def _check_features(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    ranges = {each.name: each for each in request.features}
    for name, level in image.features.items():
        found = ranges.get(name)
        low = found.min_supported_version if found else 0
        high = found.max_supported_version if found else 0
        if not low <= level <= high:
            raise ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level} "
                f"of {name}. The broker wants a version between {low} and {high}, inclusive.",
            )


def _registration(request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
        rack=request.rack,
        fenced=True,
        log_dirs=sorted(request.log_dirs),
    )


def _check_directories(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    """Each directory has an id of its own, and belongs to one broker: data was copied otherwise."""
    if image.metadata_version < KNOWS_DIRECTORIES:
        return
    wanted = request.log_dirs
    if not wanted:
        problem = "No directories specified in request"
    elif any(int.from_bytes(each, "big") < _FIRST_DIRECTORY for each in wanted):
        problem = "Reserved directory ID in request"
    elif len(set(wanted)) != len(wanted):
        problem = "Duplicate directory ID in request"
    else:
        for broker in image.brokers.values():
            for each in broker.directories:
                if broker.broker_id != request.broker_id and each in wanted:
                    problem = (
                        f"Broker {broker.broker_id} is already registered with directory {each}"
                    )
                    raise ApiError(ErrorCode.INVALID_REGISTRATION, problem)
        return
    raise ApiError(ErrorCode.INVALID_REGISTRATION, problem)
