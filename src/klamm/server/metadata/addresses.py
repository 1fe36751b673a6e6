"""What a client is told to connect to: the advertised listener, or the address it has reached us at itself."""

from __future__ import annotations

from typing import NamedTuple

from klamm.base.chance import Chance
from klamm.metadata.image import ClusterImage
from klamm.server.network.connection import Connection


class NodeAddress(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool = False


def addresses_for(
    connection: Connection, image: ClusterImage, *, node_id: int, with_fenced: bool = False
) -> list[NodeAddress]:
    """The live brokers as seen through the client's own listener."""
    listener = connection.listener
    found = []
    for broker in image.brokers.values():
        if broker.is_fenced and not with_fenced:
            continue
        if broker.broker_id == node_id and not listener.is_advertised:
            host, port = connection.local_host, connection.local_port
        elif endpoint := broker.endpoint(listener.name):
            host, port = endpoint.host, endpoint.port
        else:
            continue
        found.append(NodeAddress(broker.broker_id, host, port, broker.rack, broker.is_fenced))
    return found


def controller_addresses(connection: Connection, image: ClusterImage) -> list[NodeAddress]:
    """The controllers as seen through the controller's listener that the client came by."""
    name = connection.listener.name
    return [
        NodeAddress(controller.controller_id, endpoint.host, endpoint.port, None)
        for controller in image.controllers.values()
        for endpoint in controller.endpoints
        if endpoint.name == name
    ]


def any_broker(image: ClusterImage, chance: Chance) -> int:
    """Who is named as controller: clients cannot reach the real one, and any broker forwards what it is asked (KIP-590)."""
    alive = [each.broker_id for each in image.brokers.values() if not each.is_fenced]
    return alive[chance.randrange(len(alive))] if alive else -1
