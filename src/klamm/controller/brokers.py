"""Brokers and controllers make themselves known, start to serve, and leave.

A broker's epoch is the offset at which its registration is written: every later registration has a higher one,
so an older incarnation can be told apart for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.controller.election import Rules, not_eligible, with_broker, without_broker
from klamm.metadata.features import ELR_VERSION
from klamm.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage
from klamm.metadata.records.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)

_UNFENCE = -1
_FENCE = 1
_BROKER = 4
_TOPIC = 2
_MIN_ISR = "min.insync.replicas"


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
    context: Context, request: BrokerRegistrationRequest
) -> Decision[BrokerRegistrationResponse]:
    """A broker begins fenced. What its earlier incarnation still held is taken from it first."""
    image = context.image
    _check_registration(image, request)
    epoch = image.offset + 1
    records: list[object] = []
    earlier = image.brokers.get(request.broker_id)
    if earlier is not None:
        records += _end_incarnation(image, earlier, request.previous_broker_epoch == earlier.epoch)
    records.append(_registration(request, epoch))
    return Decision(BrokerRegistrationResponse(broker_epoch=epoch), records)


def unfence(context: Context, broker_id: int) -> Decision[None]:
    """The broker has caught up and opened its logs: it may lead, and takes what waits for a leader."""
    image = context.image
    broker = image.brokers[broker_id]
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, fenced=_UNFENCE
    )
    records: list[object] = [change]
    for topic, index, partition in _partitions_of(image, broker_id):
        if record := with_broker(topic.topic_id, index, partition, broker_id):
            records.append(record)
    return Decision(None, records)


def shut_down(context: Context, broker_id: int) -> Decision[None]:
    """A controlled shutdown, from the announcement to the end: the broker hands over what it leads."""
    image = context.image
    broker = image.brokers[broker_id]
    leaving = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=1
    )
    fenced = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, fenced=_FENCE
    )
    return Decision(None, [leaving, *_leave(image, broker_id), fenced])


def _check_registration(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != image.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {image.cluster_id}, but got cluster ID {request.cluster_id}",
        )
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


def _end_incarnation(image: ClusterImage, broker: BrokerImage, is_clean: bool) -> Iterator[object]:
    """Fence it if nobody has yet; after a crash, do not count on what it may have lost."""
    if not broker.is_fenced:
        yield from _leave(image, broker.broker_id, has_crashed=not is_clean)
        return
    if not is_clean:
        for topic, index, partition in _partitions_of(image, broker.broker_id):
            if record := not_eligible(topic.topic_id, index, partition, broker.broker_id):
                yield record


def _leave(image: ClusterImage, broker_id: int, *, has_crashed: bool = False) -> Iterator[object]:
    def is_active(other: int) -> bool:
        found = image.brokers.get(other)
        return other != broker_id and found is not None and found.is_active

    for topic, index, partition in _partitions_of(image, broker_id):
        record = without_broker(
            topic.topic_id,
            index,
            partition,
            broker_id,
            rules=_rules(image, topic.name),
            is_active=is_active,
            has_crashed=has_crashed,
        )
        if record:
            yield record


def _partitions_of(
    image: ClusterImage, broker_id: int
) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
    for topic in image.topics_by_id.values():
        for index, partition in enumerate(topic.partitions):
            if broker_id in partition.replicas:
                yield topic, index, partition


def _rules(image: ClusterImage, topic: str) -> Rules:
    own = image.config(_TOPIC, topic).get(_MIN_ISR)
    value = own if own is not None else image.config(_BROKER, "").get(_MIN_ISR, "1")
    return Rules(is_elr_enabled=image.features.get(ELR_VERSION, 0) > 0, min_isr=int(value))
