"""What a client is told to connect to: the advertised listener, or the address it has reached us at itself."""

from __future__ import annotations

from typing import NamedTuple

from klamm.metadata.image import ClusterImage
from klamm.server.network.connection import Connection


class NodeAddress(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def addresses_for(
    connection: Connection, image: ClusterImage, *, node_id: int
) -> list[NodeAddress]:
    """The live brokers as seen through the client's own listener."""
    listener = connection.listener
    found = []
    for broker in image.brokers.values():
        if broker.is_fenced:
            continue
        if broker.broker_id == node_id and not listener.is_advertised:
            found.append(
                NodeAddress(node_id, connection.local_host, connection.local_port, broker.rack)
            )
        elif endpoint := broker.endpoint(listener.name):
            found.append(NodeAddress(broker.broker_id, endpoint.host, endpoint.port, broker.rack))
    return found
