"""BrokerWatch: the active controller notices at once when a broker's process is gone.

A heartbeat's connection that closes is a hint, and so is a new active controller, which nobody speaks to yet. It becomes certain
when nobody listens at the broker's own address any more: then the broker is fenced. A broker that is only silent has its session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from klamm.metadata.image import BrokerImage, Endpoint
from klamm.server.network.connection import Connection
from klamm.server.peers.connection import PeerConnection
from klamm.server.world.ports import World

if TYPE_CHECKING:
    from klamm.server.loops.metadata_quorum import MetadataQuorum

# Deviation: Kafka fences a broker only when its session has ended, 9 s after its last heartbeat.
# A process that dies closes its connections and its listeners in any order, so a look may come too early.
_LOOKS_AFTER_SECONDS = (0.0, 0.02, 0.1, 0.4)


class BrokerWatch:
    def __init__(self, world: World, quorum: MetadataQuorum, *, listener: str) -> None:
        """listener: the name of the one that brokers speak to each other by."""
        self._network = world.network
        self._quorum = quorum
        self._listener = listener
        # By which connection each broker's heartbeats come.
        self._connections: dict[Connection, int] = {}
        self._looks: dict[int, asyncio.Task[None]] = {}

    def heard(self, broker_id: int, connection: Connection) -> None:
        self._connections[connection] = broker_id

    def closed(self, connection: Connection) -> None:
        broker_id = self._connections.pop(connection, None)
        if broker_id is not None:
            self._look_for(broker_id)

    def activated(self) -> None:
        """This node has become the active controller: who is still there?"""
        for broker_id in self._quorum.image.brokers:
            self._look_for(broker_id)

    async def close(self) -> None:
        looks = list(self._looks.values())
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)

    def _look_for(self, broker_id: int) -> None:
        if broker_id == self._quorum.node_id or broker_id in self._looks:
            return
        if self._is_in_question(broker_id) is None:
            return
        look = asyncio.get_running_loop().create_task(self._look(broker_id))
        self._looks[broker_id] = look
        look.add_done_callback(lambda _: self._looks.pop(broker_id))

    async def _look(self, broker_id: int) -> None:
        for seconds in _LOOKS_AFTER_SECONDS:
            if seconds:
                await asyncio.sleep(seconds)
            broker = self._is_in_question(broker_id)
            if broker is None:
                return
            endpoint = broker.endpoint(self._listener) or broker.endpoints[0]
            if await self._is_refused(endpoint):
                broker = self._is_in_question(broker_id)
                if broker is not None:
                    self._quorum.driver.connection_lost(broker_id)
                return

    def _is_in_question(self, broker_id: int) -> BrokerImage | None:
        """None if this node need not care: it is not the one to decide, or has heard of the broker since."""
        driver = self._quorum.driver
        if not driver.is_active or broker_id in self._connections.values():
            return None
        broker = driver.image.brokers.get(broker_id)
        return broker if broker is not None and not broker.is_fenced else None

    async def _is_refused(self, endpoint: Endpoint) -> bool:
        connection = PeerConnection(lambda: None)
        try:
            await self._network.connect(endpoint.host, endpoint.port, connection)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            connection.abort()
        return False
