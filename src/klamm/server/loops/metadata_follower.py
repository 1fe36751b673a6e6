"""MetadataFollower: turns what is committed in the metadata log into images, and tells whoever lives by them.

It reads the log, except where this node's own controller has worked out the next image already when it decided. A change
may take long to follow (a thousand logs are created), so that is done in turns, in a task of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.settings.quorum import QuorumSettings
from klamm.metadata.delta import Delta
from klamm.metadata.difference import between
from klamm.metadata.image import ClusterImage
from klamm.metadata.replay import Replayer
from klamm.raft.voters import VoterRecords
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.quorum.snapshot_files import Received
from klamm.server.world.ports import World

Callback = Callable[[ClusterImage, Delta], Iterable[None] | None]


class Step(NamedTuple):
    """An image that follows the one before it once the log is committed up to end_offset."""

    base_offset: int
    end_offset: int
    image: ClusterImage
    delta: Delta


class MetadataFollower:
    """`image` is what is committed: it may be shown to anybody and is replaced as a whole."""

    def __init__(
        self,
        world: World,
        store: MetadataLog,
        settings: QuorumSettings,
        *,
        image: ClusterImage,
        voters_at: Callable[[int], VoterRecords],
        on_published: Callable[[int], None],
        on_failure: Callable[[OSError], None],
    ) -> None:
        self.image = image
        self._clock = world.clock
        self._turns = world.turns
        self._store = store
        # What the log says of the voters up to an offset: a snapshot must carry it on.
        self._voters_at = voters_at
        self._settings = settings
        self._replayer = Replayer(image)
        # The offset behind the last record that was replayed; within a transaction the image is older.
        self._next_offset = image.offset + 1
        self._committed = self._next_offset
        self._steps: deque[Step] = deque()
        self._callbacks: list[Callback] = []
        self._on_published = on_published
        self._on_failure = on_failure
        self._following: asyncio.Task[None] | None = None
        # That of a snapshot of the leader's, which has taken the place of the log.
        self._restart_from: ClusterImage | None = None
        self._snapshots = world.workers.worker("klamm-snapshot")
        self._snapshot_at: Ms = world.clock.monotonic()
        self._is_closing = False

    @property
    def in_transaction(self) -> bool:
        return self._replayer.in_transaction

    def on_change(self, callback: Callback) -> None:
        """Called on the loop for each committed change, before its submitter goes on."""
        self._callbacks.append(callback)

    # Steps of this node's own controller

    def prepare(self, step: Step) -> None:
        self._steps.append(step)

    def forget_steps(self) -> None:
        """They were decisions of a controller that is none any more; the log may say something else."""
        self._steps.clear()

    # Following

    def committed(self, end_offset: int) -> None:
        self._committed = end_offset
        if self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())
            self._following.add_done_callback(self._followed)

    def restart(self, received: Received) -> None:
        """A snapshot of the leader's took the place of the log: go on from there."""
        image = self._restart_from = received.image
        self.committed(max(self._committed, image.offset + 1))

    async def _follow(self) -> None:
        while self._is_behind:
            if self._restart_from is not None:
                await self._begin_anew(self._restart_from)
            elif self._steps and self._steps[0].base_offset == self._next_offset:
                step = self._steps.popleft()
                self._replayer = Replayer(step.image)
                self._next_offset = step.end_offset
                await self._publish(step.image, step.delta)
            else:
                await self._read()
        if self._wants_snapshot() and not self._is_closing:
            await self.snapshot()

    async def _begin_anew(self, image: ClusterImage) -> None:
        self._restart_from = None
        if image.offset < self._next_offset:
            return
        delta = between(self.image, image)
        self._replayer = Replayer(image)
        self._next_offset = image.offset + 1
        await self._publish(image, delta)

    async def _read(self) -> None:
        """Replay from the log up to the next step, or up to what is committed."""
        end = self._committed
        if self._steps:
            end = min(end, self._steps[0].base_offset)
        turn = self._turns.begin()
        for header, records in self._store.batches(self._next_offset, end):
            self._replayer.replay(
                records,
                last_offset=header.last_offset,
                epoch=header.leader_epoch,
                timestamp=header.max_timestamp,
            )
            self._next_offset = header.last_offset + 1
            if turn.is_over():
                await asyncio.sleep(0)
                if self._restart_from is not None:
                    # What was to be read is gone, and so is the need for it.
                    return
                turn = self._turns.begin()
        await self._publish(*self._replayer.publish())

    async def _publish(self, image: ClusterImage, delta: Delta) -> None:
        self.image = image
        if delta:
            for callback in self._callbacks:
                await self._in_turns(callback(image, delta))
        self._on_published(self._next_offset)

    async def _in_turns(self, steps: Iterable[None] | None) -> None:
        """Others are served in between."""
        turn = self._turns.begin()
        for _ in steps or ():
            if turn.is_over():
                await asyncio.sleep(0)
                turn = self._turns.begin()

    def _followed(self, ended: asyncio.Task[None]) -> None:
        self._following = None
        if ended.cancelled():
            # The loop ends.
            return
        error = ended.exception()
        if isinstance(error, OSError):
            self._on_failure(error)
        elif error is not None:
            self._on_failure(OSError(f"the metadata log is no longer followed: {error!r}"))
        elif self._is_behind and not self._is_closing:
            self.committed(self._committed)

    @property
    def _is_behind(self) -> bool:
        if self._steps and self._steps[0].base_offset == self._next_offset:
            # A decision of several batches is committed as a whole, or not yet.
            has_news = self._steps[0].end_offset <= self._committed
        else:
            has_news = self._next_offset < self._committed
        return has_news or self._restart_from is not None

    def forget_callbacks(self) -> None:
        """Those who listened have stopped."""
        self._callbacks.clear()

    async def followed(self) -> None:
        """Returns when the image holds what is committed."""
        while self._following is not None:
            await asyncio.wait([self._following])

    async def close(self) -> None:
        self._is_closing = True
        await self.followed()
        await self._snapshots.close()

    # Snapshots

    def _wants_snapshot(self) -> bool:
        settings = self._settings
        if self._store.bytes_since_snapshot >= settings.metadata_max_bytes_between_snapshots:
            return True
        age = self._clock.monotonic() - self._snapshot_at
        return 0 < settings.metadata_max_snapshot_interval_ms <= age

    async def snapshot(self) -> None:
        """Of what is committed, and by a worker of its own: nobody waits for it."""
        now = self._clock.now()
        image = self.image
        newest = self._store.newest_snapshot
        if self.in_transaction or (newest is not None and image.offset < newest.offset):
            return
        voters = self._voters_at(image.offset + 1)
        at = await self._snapshots.run(self._store.write_snapshot, image, voters, now.wall)
        self._store.note_snapshot(at, now)
        self._snapshot_at = now.monotonic
