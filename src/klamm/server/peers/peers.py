"""Peers: a channel to each other broker of the cluster, found by its number."""

from __future__ import annotations

from collections.abc import Callable

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage
from klamm.server.peers.channel import PeerChannel
from klamm.server.peers.way import Way
from klamm.server.world.ports import World


class Peers:
    """`listener` is the name of the one that brokers speak to each other by."""

    def __init__(
        self,
        world: World,
        image: Callable[[], ClusterImage],
        *,
        listener: str,
        way: Way,
        client_id: str,
    ) -> None:
        self._world = world
        self._way = way
        self._image = image
        self._listener = listener
        self._client_id = client_id
        self._channels: dict[int, PeerChannel] = {}

    def to(self, broker_id: int) -> PeerChannel:
        """The one that everybody shares. ApiError: no such broker is known."""
        host, port = self.address_of(broker_id)
        channel = self._channels.get(broker_id)
        if channel is not None and (channel.host, channel.port) != (host, port):
            channel.close()
            channel = None
        if channel is None:
            channel = self._channels[broker_id] = self.open(broker_id)
        return channel

    def open(self, broker_id: int, *, client_id: str | None = None) -> PeerChannel:
        """One for the caller alone, who closes it."""
        host, port = self.address_of(broker_id)
        return PeerChannel(
            self._world, host, port, client_id=client_id or self._client_id, way=self._way
        )

    def address_of(self, broker_id: int) -> tuple[str, int]:
        broker = self._image().brokers.get(broker_id)
        endpoint = broker.endpoint(self._listener) if broker is not None else None
        if endpoint is None:
            raise ApiError(
                ErrorCode.BROKER_NOT_AVAILABLE,
                f"Broker {broker_id} has no listener {self._listener}.",
            )
        return endpoint.host, endpoint.port

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
