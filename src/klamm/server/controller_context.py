"""What handlers are given: NodeContext on any listener, ControllerContext on a controller's (Broker on the others).

A handler that serves both listeners takes `call.context` and needs nothing else; one that needs partitions takes
`call.broker`, and its API is served by brokers only.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from klamm.base.clock import Clock
from klamm.base.settings.broker import Settings
from klamm.metadata.image import ClusterImage
from klamm.server.api_table import CONTROLLER, CONTROLLER_MODULES, ServedApi, served
from klamm.server.authorization.audit import Audit
from klamm.server.authorization.authorization import Authorization
from klamm.server.controller_port import ControllerPort
from klamm.server.heavy.turns import HeavyRequests
from klamm.server.peers.broker_watch import BrokerWatch
from klamm.server.world.ports import World

if TYPE_CHECKING:
    from klamm.server.loops.metadata_quorum import MetadataQuorum


class NodeContext(Protocol):
    """What every node has."""

    settings: Settings
    world: World
    clock: Clock
    node_id: int
    quorum: MetadataQuorum
    # On a broker's listener it finds the active controller; on a controller's it is this node's own, active or not.
    controller: ControllerPort
    heavy: HeavyRequests
    tasks: dict[asyncio.Task[None], None]
    # None: everybody may do everything.
    authorization: Authorization | None
    # None: nobody keeps book.
    audit: Audit | None
    # What is served on the listeners of this context.
    apis: dict[int, ServedApi]

    @property
    def image(self) -> ClusterImage: ...


class ControllerContext:
    def __init__(
        self,
        settings: Settings,
        *,
        world: World,
        quorum: MetadataQuorum,
        authorization: Authorization | None = None,
        audit: Audit | None = None,
    ) -> None:
        self.settings = settings
        self.world = world
        self.clock = world.clock
        self.node_id = settings.node.node_id
        self.quorum = quorum
        self.authorization = authorization
        self.audit = audit
        self.controller: ControllerPort = quorum.driver
        self.heavy = HeavyRequests(world.turns)
        # In the order in which they began.
        self.tasks: dict[asyncio.Task[None], None] = {}
        # Who lives, as far as connections tell.
        self.brokers = BrokerWatch(world, quorum, listener=settings.listeners.inter_broker())
        quorum.on_active = self.brokers.activated
        self.apis = served(CONTROLLER, CONTROLLER_MODULES)

    @property
    def image(self) -> ClusterImage:
        return self.quorum.image

    async def close(self) -> None:
        await self.brokers.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
