"""RaftDriver: does what the raft machine asks, in the order in which it asks.

Persist, cut, append, send: all of it at once. Only fsync goes to a worker, one round for all that was appended while
the one before was running. What is committed goes to whoever follows the log; nothing that they do holds this up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.raft.messages import Answer, Send
from klamm.raft.node import RaftNode
from klamm.raft.ready import Ready
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.world.ports import World

# What waits for nobody's answer reaches the disk together, or with the next record that somebody waits for.
_SYNC_IDLE_AFTER_SECONDS = 5.0
_FAR: Ms = 1 << 60


class RaftChannel(Protocol):
    """The way to the other nodes of the quorum."""

    def send(self, send: Send, heard: Callable[[Answer | None], None]) -> None:
        """Calls back with the answer, or with None if there is none."""


class RaftDriver:
    """`on_commit` hears how far the log is committed, `on_role` that the node's role or epoch has changed."""

    def __init__(
        self,
        world: World,
        store: MetadataLog,
        raft: RaftNode,
        *,
        on_commit: Callable[[int], None],
        on_role: Callable[[], None],
        on_failure: Callable[[OSError], None],
        channel: RaftChannel | None = None,
    ) -> None:
        self.raft = raft
        self.failure: OSError | None = None
        # When something was last appended.
        self.appended_at: Ms = world.clock.monotonic()
        self._clock = world.clock
        self._store = store
        self._channel = channel
        self._on_commit = on_commit
        self._on_role = on_role
        self._on_failure = on_failure
        self._worker = world.workers.worker("klamm-metadata")
        self._round: asyncio.Task[None] | None = None
        self._idle_sync: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._committed = 0
        self._cuts = 0
        self._role = (raft.role, raft.epoch)
        self._is_closed = False

    def start(self) -> None:
        self._do(self.raft.start(self._clock.monotonic()))

    def propose(self, values: Sequence[bytes], *, can_wait: bool = False) -> int:
        """Append as one batch; returns the end of the log. `can_wait`: nobody does, so the disk need not hurry."""
        self._do(self.raft.propose(values), can_wait=can_wait)
        return self.raft.end_offset

    def resign(self) -> None:
        if self.raft.is_leader:
            self._do(self.raft.resign(self._clock.monotonic()))

    def sync(self) -> None:
        if self._round is None and self.failure is None and not self.raft.replica.is_flushed:
            self._round = asyncio.get_running_loop().create_task(self._sync_all())
            self._round.add_done_callback(self._synced)

    async def synced(self) -> None:
        """Returns when all that is in the log is on disk, or never will be."""
        self.sync()
        while self._round is not None and self.failure is None:
            await asyncio.wait([self._round])

    async def close(self) -> None:
        """Nothing is heard or said any more."""
        self._is_closed = True
        for timer in (self._alarm, self._idle_sync):
            if timer is not None:
                timer.cancel()
        if self._round is not None:
            await asyncio.wait([self._round])
        await self._worker.close()

    # Doing

    def _do(self, ready: Ready, *, can_wait: bool = False) -> None:
        if ready.persist is not None:
            # On the loop: it is rare, and nothing may be said before it is safe.
            self._store.write_election(ready.persist)
        if ready.truncate_to is not None:
            self._cuts += 1
            self._store.log.truncate_to(ready.truncate_to, self._clock.wall())
        if ready.append:
            self._append(ready, can_wait=can_wait)
        for send in ready.send:
            self._send(send)
        self._tell()
        self._set_alarm()

    def _append(self, ready: Ready, *, can_wait: bool) -> None:
        for batch in ready.append:
            try:
                self._store.append(batch)
            except OSError as error:
                self.raft.withdraw(batch)
                self.fail(error)
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        self.appended_at = self._clock.monotonic()
        if not can_wait:
            self.sync()
        elif self._idle_sync is None:
            loop = asyncio.get_running_loop()
            self._idle_sync = loop.call_later(_SYNC_IDLE_AFTER_SECONDS, self._sync_idle)

    def _send(self, send: Send) -> None:
        assert self._channel is not None, "a quorum of one has nobody to speak to"
        self._channel.send(send, lambda answer: self._heard(send, answer))

    def _heard(self, send: Send, answer: Answer | None) -> None:
        if not self._is_closed and self.failure is None:
            self._do(self.raft.hear(send, answer, self._clock.monotonic()))

    def _tell(self) -> None:
        role = (self.raft.role, self.raft.epoch)
        if role != self._role:
            self._role = role
            self._on_role()
        if self.raft.high_watermark > self._committed:
            self._committed = self.raft.high_watermark
            self._on_commit(self._committed)

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        now = self._clock.monotonic()
        at = self.raft.next_wake(now)
        if at < _FAR and not self._is_closed and self.failure is None:
            delay = max(0, at - now) / 1000
            self._alarm = asyncio.get_running_loop().call_later(delay, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._do(self.raft.wake(self._clock.monotonic()))

    # Making it safe

    async def _sync_all(self) -> None:
        """Rounds of fsync until all is safe; each serves all that came while the one before was running."""
        log = self._store.log
        while not self.raft.replica.is_flushed:
            flush = log.begin_flush()
            assert flush is not None
            cuts = self._cuts
            await self._worker.run(flush.run)
            if cuts != self._cuts:
                # What was synced may be cut off by now, and something else have taken its place.
                continue
            log.end_flush(flush)
            self._do(self.raft.flushed(flush.end_offset, self._clock.monotonic()))

    def _synced(self, ended: asyncio.Task[None]) -> None:
        self._round = None
        if ended.cancelled():
            # The loop ends: nobody is left to begin another round for.
            return
        error = ended.exception()
        if isinstance(error, OSError):
            self.fail(error)
        elif error is not None:
            self.fail(OSError(f"the metadata log is no longer written: {error!r}"))
        elif not self._is_closed:
            self.sync()

    def _sync_idle(self) -> None:
        self._idle_sync = None
        self.sync()

    def fail(self, error: OSError) -> None:
        """Final: after a failed write or fsync nobody knows what is on disk."""
        if self.failure is None:
            self.failure = error
            self._on_failure(error)
