"""Brokers begin to serve, are fenced, and stop: what a heartbeat, a silence or a lost connection leads to.

A fenced broker is registered but leads nothing and is in no ISR. The records that take its partitions away come before the
one that fences it, and those that give it some come after the one that lets it serve.
"""

from __future__ import annotations

from collections.abc import Sequence

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.controller.decision import Context, Decision
from klamm.controller.heartbeats import Heartbeats, State, next_state
from klamm.controller.partitions.election import (
    directory_of,
    leads_any,
    places,
    with_broker,
    without_broker,
)
from klamm.metadata.image import BrokerImage, ClusterImage
from klamm.metadata.records.nodes import BrokerRegistrationChangeRecord
from klamm.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

_UNFENCE = -1
_FENCE = 1
_IN_CONTROLLED_SHUTDOWN = 1
# The levels of metadata.version (3.7-IV2, 4.3-IV0) from which on brokers tell of their directories.
KNOWS_DIRECTORIES = 17
_KNOWS_CORDONS = 30


def heartbeat(
    context: Context, heartbeats: Heartbeats, request: BrokerHeartbeatRequest, now: Ms
) -> Decision[BrokerHeartbeatResponse]:
    image = context.image
    broker = check_epoch(image, request.broker_id, request.broker_epoch)
    session = heartbeats.of(broker, now)
    needs_leaderships = request.want_shut_down or session.shutdown_offset is not None
    state = next_state(
        broker,
        session,
        offset=request.current_metadata_offset,
        wants_fence=request.want_fence,
        wants_shutdown=request.want_shut_down,
        leads_any=needs_leaderships and leads_any(image, broker.broker_id),
        lowest_active_offset=heartbeats.lowest_active_offset(image) if needs_leaderships else 0,
    )
    records: list[object] = []
    if state.is_fenced and not broker.is_fenced:
        records = fence(context, broker)
    elif state is State.UNFENCED and broker.is_fenced:
        records = unfence(context, broker)
    elif state is State.CONTROLLED_SHUTDOWN and session.shutdown_offset is None:
        records = _hand_over(context, broker)
    session.last_contact, session.is_heard = now, True
    session.metadata_offset = request.current_metadata_offset
    if state is not State.CONTROLLED_SHUTDOWN:
        session.shutdown_offset = None
    elif session.shutdown_offset is None:
        session.shutdown_offset = image.offset + len(records)
    records += _directories(context, broker, request, is_leaving=state.is_fenced)
    reply = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= session.registered_at,
        is_fenced=state.is_fenced,
        should_shut_down=state is State.SHUTDOWN_NOW,
    )
    return Decision(reply, records)


def check_epoch(image: ClusterImage, broker_id: int, epoch: int) -> BrokerImage:
    """Only the living incarnation of a broker is heard."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        text = f"No broker registration found for broker id {broker_id}"
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    if broker.epoch != epoch:
        text = f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    return broker


def fence(context: Context, broker: BrokerImage) -> list[object]:
    """It loses what it holds, then its right to hold anything."""
    return [*without_broker(context, broker.broker_id), _changed(broker, fenced=_FENCE)]


def unfence(context: Context, broker: BrokerImage) -> list[object]:
    """The broker has caught up and opened its logs: it may lead, and takes what waits for a leader."""
    return [_changed(broker, fenced=_UNFENCE), *with_broker(context, broker.broker_id)]


def _hand_over(context: Context, broker: BrokerImage) -> list[object]:
    """It still serves, but leads nothing more, and is in no ISR that can do without it."""
    records: list[object] = []
    if not broker.in_controlled_shutdown:
        records.append(_changed(broker, in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN))
    return [*records, *without_broker(context, broker.broker_id)]


def _directories(
    context: Context, broker: BrokerImage, request: BrokerHeartbeatRequest, *, is_leaving: bool
) -> list[object]:
    """What lay in a directory that has failed is lost to the cluster until the broker starts again."""
    records: list[object] = []
    level = context.image.metadata_version
    failed = [each for each in request.offline_log_dirs if each in broker.directories]
    if failed and level >= KNOWS_DIRECTORIES:
        if not is_leaving:
            records += _without_directories(context, broker.broker_id, failed)
        left = [each for each in broker.directories if each not in failed]
        records.append(_changed(broker, log_dirs=left))
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and level >= _KNOWS_CORDONS:
        known = sorted(each for each in cordoned if each in broker.directories)
        if known != list(broker.cordoned_directories):
            records.append(_changed(broker, cordoned_log_dirs=known))
    return records


def _without_directories(context: Context, broker_id: int, failed: Sequence[Uuid]) -> list[object]:
    among = (
        place
        for place in places(context.image)
        if broker_id in place[2].replicas and directory_of(place[2], broker_id) in failed
    )
    return list(without_broker(context, broker_id, among=among))


def _changed(
    broker: BrokerImage,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: Sequence[Uuid] = (),
    cordoned_log_dirs: Sequence[Uuid] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=list(log_dirs),
        cordoned_log_dirs=None if cordoned_log_dirs is None else list(cordoned_log_dirs),
    )
