"""How a node joins its cluster: the records of a new log, and what it says of itself when it registers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from klamm.base.chance import Chance, random_uuid
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.broker import Settings
from klamm.metadata.features import ELR_VERSION, SUPPORTED
from klamm.metadata.image import Endpoint
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.records.log import BeginTransactionRecord, EndTransactionRecord
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages import broker_registration, controller_registration
from klamm.protocol.messages.broker_registration import BrokerRegistrationRequest
from klamm.protocol.messages.controller_registration import ControllerRegistrationRequest
from klamm.server.storage import DataDirectories

if TYPE_CHECKING:
    from klamm.server.loops.metadata_quorum import MetadataQuorum

log = logging.getLogger(__name__)

_AGAIN_SECONDS = 1.0


def bootstrap_records(records: Sequence[object], settings: Settings) -> list[object]:
    """The first records of a new cluster, in a transaction: a crash leaves all of them or none.

    Where there is an ELR, min.insync.replicas must be the same for all brokers, so it moves into the log.
    """
    extra: list[object] = []
    if any(isinstance(each, FeatureLevelRecord) and each.name == ELR_VERSION for each in records):
        value = str(settings.topic_defaults.min_insync_replicas)
        extra.append(
            ConfigRecord(
                resource_type=ResourceType.BROKER,
                resource_name="",
                name="min.insync.replicas",
                value=value,
            )
        )
    begin = BeginTransactionRecord(name="Bootstrap records")
    return [begin, *records, *extra, EndTransactionRecord()]


def controller_request(
    directories: DataDirectories, *, endpoints: Sequence[Endpoint], chance: Chance
) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=directories.node_id,
        incarnation_id=random_uuid(chance),
        listeners=[
            controller_registration.Listener(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in endpoints
        ],
        features=[
            controller_registration.Feature(
                name=name, min_supported_version=each.lowest, max_supported_version=each.highest
            )
            for name, each in SUPPORTED.items()
        ],
    )


async def register_controller(
    quorum: MetadataQuorum, request: ControllerRegistrationRequest
) -> None:
    """Returns when the active controller knows this one: who asks for controllers is told of it."""
    while not quorum.has_failed:
        try:
            await quorum.controller.ask(request)
        except ApiError as e:
            if e.code is not ErrorCode.REQUEST_TIMED_OUT:
                log.warning("this controller is not registered yet: %s", e)
                await asyncio.sleep(_AGAIN_SECONDS)
        else:
            return


def broker_request(
    directories: DataDirectories,
    settings: Settings,
    *,
    endpoints: Sequence[Endpoint],
    chance: Chance,
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=directories.node_id,
        cluster_id=directories.cluster_id,
        incarnation_id=random_uuid(chance),
        listeners=[
            broker_registration.Listener(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in endpoints
        ],
        features=[
            broker_registration.Feature(
                name=name, min_supported_version=each.lowest, max_supported_version=each.highest
            )
            for name, each in SUPPORTED.items()
        ],
        rack=settings.node.rack,
        log_dirs=[each.id for each in directories.all],
        previous_broker_epoch=directories.previous_broker_epoch,
    )
