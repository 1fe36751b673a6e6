"""MetadataQuorum: this node's part in what holds the cluster's metadata, put together from three drivers.

RaftDriver keeps the log, MetadataFollower makes images of what is committed, ControllerDriver decides while this node
leads. Here they are started, this node joins the cluster, and at the end it leaves in good order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

from klamm.base.errors import ApiError
from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.server.loops.controller_driver import ControllerDriver, Operation
from klamm.server.loops.joining import bootstrap_decision, broker_request, controller_request
from klamm.server.loops.metadata_follower import Callback, MetadataFollower
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.quorum.assembly import connect, make_raft
from klamm.server.storage import DataDirectories
from klamm.server.world.ports import World

T = TypeVar("T")

# At a clean stop a snapshot is written if the next start would otherwise replay more than this.
_REPLAY_BYTES_AT_START = 1 << 19


class MetadataQuorum:
    def __init__(
        self,
        world: World,
        settings: Settings,
        *,
        directories: DataDirectories,
        endpoints: Sequence[Endpoint],
        controller_endpoints: Sequence[Endpoint] = (),
        on_failure: Callable[[OSError], None] | None = None,
    ) -> None:
        self._world = world
        self._settings = settings
        self._directories = directories
        self._endpoints = endpoints
        self._controller_endpoints = controller_endpoints
        self._on_failure = on_failure
        self._is_started = False
        self._stack = AsyncExitStack()
        self._store: MetadataLog
        self._raft: RaftDriver
        self._follower: MetadataFollower
        self._controller: ControllerDriver

    # What others may know

    @property
    def image(self) -> ClusterImage:
        return self._follower.image

    @property
    def raft(self) -> RaftDriver:
        return self._raft

    @property
    def epoch(self) -> int:
        return self._raft.raft.epoch

    @property
    def end_offset(self) -> int:
        return self._raft.raft.end_offset

    @property
    def high_watermark(self) -> int:
        return self._raft.raft.high_watermark

    @property
    def directory_id(self) -> Uuid:
        return self._directories.metadata.id

    @property
    def kraft_version(self) -> int:
        """1 where the log names its voters, 0 where the settings do. A feature that no metadata record tells of."""
        version = self._raft.raft.replica.history.records.version
        return version.kraft_version if version is not None else 0

    @property
    def broker_epoch(self) -> int:
        """-1 where this node is no broker, or is not registered yet."""
        broker = self.image.brokers.get(self._directories.node_id)
        return broker.epoch if broker is not None else -1

    @property
    def controller(self) -> ControllerDriver:
        return self._controller

    def on_change(self, callback: Callback) -> None:
        self._follower.on_change(callback)

    # Starting and stopping

    async def start(self) -> None:
        """Load, lead, and register this node; when it returns the image has its broker, ready to serve."""
        world, directories = self._world, self._directories
        store = self._store = MetadataLog(
            world.disk, directories.metadata.path, self._settings.quorum, world.clock.wall()
        )
        raft = make_raft(world, self._settings, directories, store, self._controller_endpoints)
        self._raft = RaftDriver(
            world,
            store,
            raft,
            on_commit=lambda end: self._follower.committed(end),
            on_role=lambda: self._controller.role_changed(),
            on_failure=self._failed,
        )
        self._follower = MetadataFollower(
            world,
            store,
            self._settings.quorum,
            image=store.load_snapshot(directories.cluster_id),
            voters_at=raft.replica.history.records_at,
            on_published=lambda end: self._controller.published(end),
            on_failure=self._raft.fail,
        )
        self._controller = ControllerDriver(
            world, self._settings, raft=self._raft, follower=self._follower
        )
        self._stack.push_async_callback(self._follower.close)
        self._stack.push_async_callback(self._raft.close)
        self._stack.callback(self._controller.close)
        connect(world, self._settings, directories, self._raft, self._follower.restart)
        self._raft.start()
        await self._controller.active()
        await self._join()
        self._is_started = True

    async def _join(self) -> None:
        """All these build on each other without waiting; one fsync makes them safe together."""
        directories, chance = self._directories, self._world.chance
        if not self.image.features:
            # A new log, or one whose first start crashed before its bootstrap records were safe.
            records = self._store.bootstrap_records()
            self.submit(lambda *_: bootstrap_decision(records, self._settings))
        controller = controller_request(
            directories, endpoints=self._controller_endpoints, chance=chance
        )
        registered = self.submit(lambda machine, now: machine.register_controller(controller, now))
        if not self._settings.node.is_broker:
            await registered
            return
        broker = broker_request(
            directories, self._settings, endpoints=self._endpoints, chance=chance
        )
        self.submit(lambda machine, now: machine.register_broker(broker, now))
        await self.submit(lambda machine, now: machine.unfence_broker(directories.node_id, now))

    async def close(self) -> None:
        """Leave the cluster in good order. Callbacks hear nothing of it: the broker has stopped already."""
        if self._is_started and self._raft.failure is None:
            self._follower.forget_callbacks()
            # If the disk fails now, on_failure hears of it; there is nobody else to tell.
            with suppress(ApiError, OSError):
                await self._leave()
        await self._stack.aclose()

    async def _leave(self) -> None:
        node_id = self._directories.node_id
        if self._settings.node.is_broker:
            await self.submit(lambda machine, now: machine.shut_down_broker(node_id, now))
        await self._raft.synced()
        await self._follower.followed()
        if self._store.bytes_since_snapshot > _REPLAY_BYTES_AT_START:
            await self._follower.snapshot()
        self._raft.resign()
        self._store.log.close(self._world.clock.wall())

    def _failed(self, error: OSError) -> None:
        self._controller.fail(error)
        if self._on_failure is not None:
            self._on_failure(error)

    # Changing what the cluster knows

    def submit(self, operation: Operation[T]) -> asyncio.Future[T]:
        return self._controller.submit(operation)
