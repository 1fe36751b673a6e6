"""MetadataQuorum: this node's part in what holds the cluster's metadata, put together from three drivers.

RaftDriver keeps the log, MetadataFollower makes images of what is committed, ControllerDriver decides while this node
leads, and ControllerChannel finds who does. Here they are started and, in good order, stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

from klamm.base.errors import ApiError
from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.raft.messages import Address
from klamm.server.loops.controller_driver import ControllerDriver, Operation
from klamm.server.loops.joining import bootstrap_records
from klamm.server.loops.metadata_follower import Callback, MetadataFollower
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.peers.controller_channel import ControllerChannel
from klamm.server.quorum.assembly import connect, make_raft
from klamm.server.storage import DataDirectories
from klamm.server.world.ports import World

T = TypeVar("T")

# At a clean stop a snapshot is written if the next start would otherwise replay more than this.
_REPLAY_BYTES_AT_START = 1 << 19


class MetadataQuorum:
    """`controller` asks the active controller, wherever it is; `driver` is this node's own, active or not."""

    def __init__(
        self,
        world: World,
        settings: Settings,
        *,
        directories: DataDirectories,
        controller_endpoints: Sequence[Endpoint] = (),
        on_failure: Callable[[OSError], None] | None = None,
    ) -> None:
        self._world = world
        self._settings = settings
        self._directories = directories
        self._controller_endpoints = controller_endpoints
        self._on_failure = on_failure
        self._is_started = False
        self._stack = AsyncExitStack()
        # Set, and replaced, when another node leads or this one begins to decide.
        self._leader_change = asyncio.Event()
        # Set, and replaced, with every image that all have followed.
        self._progress = asyncio.Event()
        self._published = 0
        self._store: MetadataLog
        self._raft: RaftDriver
        self._follower: MetadataFollower
        self.node_id = directories.node_id
        # That of this process, once it is registered as a broker.
        self.broker_epoch = -1
        self.driver: ControllerDriver
        # Hears that this node has become the active controller.
        self.on_active: Callable[[], None] = lambda: None
        # Hears, once, that this node has read the metadata as far as it is committed.
        self.on_caught_up: Callable[[], None] = lambda: None
        self._has_caught_up = False
        # Hear that another node leads, or that this one decides now.
        self._on_leader: list[Callable[[], None]] = []
        self.controller = ControllerChannel(world, settings, self)

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
    def leader_id(self) -> int | None:
        return self._raft.raft.leader_id

    @property
    def leader_address(self) -> Address | None:
        """Where the leader serves controllers, as far as this node knows."""
        leader_id, raft = self.leader_id, self._raft.raft
        if leader_id is None:
            return None
        if raft.known.leader_address is not None:
            return raft.known.leader_address
        voter = raft.voters.find(leader_id)
        if voter is not None and voter.address is not None:
            return voter.address
        registered = self.image.controllers.get(leader_id)
        if registered is not None and registered.endpoints:
            first = registered.endpoints[0]
            return Address(first.host, first.port)
        return None

    @property
    def end_offset(self) -> int:
        return self._raft.raft.end_offset

    @property
    def high_watermark(self) -> int:
        return self._raft.raft.high_watermark

    @property
    def followed_offset(self) -> int:
        """The last offset that all who live by the metadata have followed."""
        return self._published - 1

    @property
    def directory_id(self) -> Uuid:
        return self._directories.metadata.id

    @property
    def kraft_version(self) -> int:
        return self._raft.kraft_version

    @property
    def has_failed(self) -> bool:
        """The metadata log cannot be written, or followed, any more."""
        return self._raft.failure is not None

    @property
    def refusals(self) -> Collection[int]:
        """What other nodes of the quorum last refused us for."""
        return self._raft.refusals

    def on_change(self, callback: Callback) -> None:
        self._follower.on_change(callback)

    def on_leader(self, callback: Callable[[], None]) -> None:
        self._on_leader.append(callback)

    async def leader_change(self, seconds: float) -> None:
        """Returns when another node leads, or this one begins to decide, but not later than that."""
        await _within(seconds, self._leader_change)

    async def reached(self, end_offset: int, seconds: float) -> bool:
        """Whether all have followed the metadata up to there, after at most so many seconds."""
        deadline = self._world.clock.monotonic() + int(seconds * 1000)
        while self._published < end_offset:
            left_ms = deadline - self._world.clock.monotonic()
            if left_ms <= 0:
                return False
            await _within(left_ms / 1000, self._progress)
        return True

    # Starting and stopping

    async def start(self) -> None:
        """Load the log and take part. Who leads, and when, shows later."""
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
            on_role=self._role_changed,
            on_failure=self._failed,
        )
        self._follower = MetadataFollower(
            world,
            store,
            self._settings.quorum,
            image=store.load_snapshot(directories.cluster_id),
            voters_at=raft.replica.history.records_at,
            on_published=self._followed,
            on_failure=self._raft.fail,
        )
        self.driver = ControllerDriver(
            world,
            self._settings,
            raft=self._raft,
            follower=self._follower,
            bootstrap=lambda: bootstrap_records(store.bootstrap_records(), self._settings),
            on_active=self._activated,
        )
        self._published = self.image.offset + 1
        self._stack.push_async_callback(self._follower.close)
        self._stack.push_async_callback(self._raft.close)
        self._stack.callback(self.driver.close)
        self._stack.callback(self.controller.close)
        connect(world, self._settings, directories, self._raft, self._follower.restart)
        self._raft.start()
        self._is_started = True

    def _role_changed(self) -> None:
        self.driver.role_changed()
        self._leader_changed()

    def _activated(self) -> None:
        self._leader_changed()
        self.on_active()

    def _leader_changed(self) -> None:
        self.controller.leader_changed()
        for callback in self._on_leader:
            callback()
        self._leader_change.set()
        self._leader_change = asyncio.Event()

    def _followed(self, end_offset: int) -> None:
        self._published = end_offset
        if not self._has_caught_up and 0 < self.high_watermark <= end_offset:
            self._has_caught_up = True
            self.on_caught_up()
        self.driver.published(end_offset)
        self._progress.set()
        self._progress = asyncio.Event()

    def forget_callbacks(self) -> None:
        """Those who followed the metadata have stopped."""
        if self._is_started:
            self._follower.forget_callbacks()

    async def close(self) -> None:
        """Leave the quorum in good order."""
        self.forget_callbacks()
        if self._is_started and self._raft.failure is None:
            # If the disk fails now, on_failure hears of it; there is nobody else to tell.
            with suppress(ApiError, OSError):
                await self._leave()
        await self._stack.aclose()

    async def _leave(self) -> None:
        await self._raft.synced()
        await self._follower.followed()
        if self._store.bytes_since_snapshot > _REPLAY_BYTES_AT_START:
            await self._follower.snapshot()
        self._raft.resign()
        self._store.log.close(self._world.clock.wall())

    def _failed(self, error: OSError) -> None:
        self.driver.fail(error)
        self._leader_changed()
        if self._on_failure is not None:
            self._on_failure(error)

    # Changing what the cluster knows

    def submit(self, operation: Operation[T]) -> asyncio.Future[T]:
        return self.driver.submit(operation)


async def _within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
