"""RaftDriver: does what the raft machine asks, in the order in which it asks.

Persist, cut, append, send: all of it at once. Only fsync goes to a worker, one round for all that was appended while
the one before was running, and so does a whole snapshot of the leader's. What is committed goes to whoever follows the
log; nothing that they do holds this up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.raft.membership import from_settings
from klamm.raft.messages import (
    Answer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Ready,
    Request,
    Send,
    SnapshotAnswer,
)
from klamm.raft.node import RaftNode
from klamm.raft.replica import LostCommitted
from klamm.raft.roles import Follower
from klamm.raft.voters import VoterSet
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.quorum.requests import Terms
from klamm.server.quorum.snapshot_files import Received
from klamm.server.quorum.waiting_fetches import Reply, WaitingFetch, WaitingFetches, has_news
from klamm.server.world.ports import World

log = logging.getLogger(__name__)

# What waits for nobody's answer reaches the disk together, or with the next record that somebody waits for.
_SYNC_IDLE_AFTER_SECONDS = 5.0
_FAR: Ms = 1 << 60


class RaftChannel(Protocol):
    """The way to the other nodes of the quorum."""

    def send(self, send: Send, heard: Callable[[Answer | None], None]) -> None:
        """Calls back with the answer, or with None if there is none."""

    @property
    def refusals(self) -> Sequence[int]:
        """Errors that other nodes have last answered, as long as they do."""
        ...

    def close(self) -> None: ...


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
    ) -> None:
        self.raft = raft
        self.failure: OSError | None = None
        # When something was last appended.
        self.appended_at: Ms = world.clock.monotonic()
        self._clock = world.clock
        self._store = store
        # A quorum of one has nobody to speak to.
        self._channel: RaftChannel | None = None
        self.terms = Terms(cluster_id="", listener="")
        self._on_commit = on_commit
        self._on_role = on_role
        self._on_failure = on_failure
        self._on_snapshot: Callable[[Received], None] | None = None
        self._fetches = WaitingFetches(raft, store)
        self._loading: asyncio.Task[None] | None = None
        self._next_piece: SnapshotAnswer | None = None
        self._worker = world.workers.worker("klamm-metadata")
        self._round: asyncio.Task[None] | None = None
        self._idle_sync: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._committed = 0
        self._cuts = 0
        self._role = (raft.role, raft.epoch)
        # What whoever waits at this node has seen: where the log ends, and how much of it is committed.
        self._seen = (0, 0)
        self._voter_change: tuple[int, int, asyncio.Future[None]] | None = None
        self._is_closed = False

    def connect(
        self, channel: RaftChannel, terms: Terms, on_snapshot: Callable[[Received], None]
    ) -> None:
        """To the others. `on_snapshot` hears that one of the leader's has taken the place of the log."""
        self._channel = channel
        self.terms = terms
        self._on_snapshot = on_snapshot

    def start(self) -> None:
        self._do(self.raft.start(self._clock.monotonic()))

    def propose(self, values: Sequence[bytes], *, can_wait: bool = False) -> int:
        """Append as one batch; returns the end of the log. `can_wait`: nobody does, so the disk need not hurry."""
        self._do(self.raft.propose(values), can_wait=can_wait)
        return self.raft.end_offset

    def resign(self) -> None:
        if self.raft.is_leader:
            self._do(self.raft.resign(self._clock.monotonic()))

    # What other nodes ask

    def receive(self, request: Request) -> Answer:
        """What the answer promises is on disk when this returns."""
        self._check()
        ready = self.raft.receive(request, self._clock.monotonic())
        self._do(ready)
        assert ready.answer is not None
        return ready.answer

    def fetch(
        self, fetch: Fetch, *, max_bytes: int, wait_ms: Ms, reply: Reply
    ) -> FetchAnswer | WaitingFetch:
        """The answer; or, if there is nothing new, what waits for it: then `reply` is called later."""
        found = self.receive(fetch)
        assert isinstance(found, FetchAnswer)
        answer = self._fetches.read(found, fetch, max_bytes)
        if wait_ms <= 0 or has_news(answer, fetch):
            return answer
        waiting = WaitingFetch(fetch, max_bytes, reply)
        self._fetches.park(waiting, wait_ms)
        return waiting

    def abandon(self, waiting: WaitingFetch) -> None:
        self._fetches.abandon(waiting)

    def fetch_snapshot(self, fetch: FetchSnapshot, *, max_bytes: int) -> SnapshotAnswer:
        answer = self.receive(fetch)
        assert isinstance(answer, SnapshotAnswer)
        if answer.error is not ErrorCode.NONE:
            return answer
        now = self._clock.monotonic()
        try:
            data, size = self._store.files.read_piece(
                fetch.snapshot, fetch.position, max_bytes, now
            )
        except ApiError as error:
            return replace(answer, error=error.code)
        return replace(answer, data=data, size=size)

    @property
    def log_start(self) -> int:
        return self._store.start_offset

    @property
    def refusals(self) -> Sequence[int]:
        """What other nodes last refused us for."""
        return self._channel.refusals if self._channel is not None else ()

    async def change_voters(self, decide: Callable[[Ms], VoterSet], timeout_ms: Ms | None) -> None:
        """Returns when the new voters are committed, by a majority of themselves; at once if timeout_ms is None.

        ApiError: they may not be changed like that, or not now; or nobody knows whether they were.
        """
        self._check()
        voters = decide(self._clock.monotonic())
        self._do(self.raft.change_voters(voters))
        if timeout_ms is None:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        change = self._voter_change = (self.raft.end_offset, self.raft.epoch, future)
        self._tell()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await future
        except TimeoutError:
            raise ApiError(
                ErrorCode.REQUEST_TIMED_OUT, "The change of the voters is not committed yet."
            ) from None
        finally:
            if self._voter_change is change:
                self._voter_change = None

    @property
    def kraft_version(self) -> int:
        """1 where the log names its voters, 0 where the settings do. A feature that no metadata record tells of."""
        version = self.raft.replica.history.records.version
        return version.kraft_version if version is not None else 0

    def raise_kraft_version(self, *, validate_only: bool) -> None:
        """The voters of the settings move into the log. ApiError, and nothing has changed, if they may not."""
        self._check()
        voters = from_settings(self.raft, self._clock.monotonic())
        if not validate_only:
            self._do(self.raft.move_voters_into_log(voters))

    def _tell_changer(self) -> None:
        """Whoever waits for a change of the voters."""
        if self._voter_change is None:
            return
        end_offset, epoch, future = self._voter_change
        if future.done():
            return
        if self.raft.high_watermark >= end_offset:
            future.set_result(None)
        elif self.raft.epoch != epoch or not self.raft.is_leader:
            future.set_exception(ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def unreachable(self, node_id: int) -> None:
        """That node's process is gone."""
        if not self._is_closed and self.failure is None:
            self._react(self.raft.unreachable(node_id, self._clock.monotonic()))

    def _check(self) -> None:
        if self._is_closed or self.failure is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The metadata log cannot be written.")

    # The disk

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
        self._fetches.close()
        if self._channel is not None:
            self._channel.close()
        for task in (self._round, self._loading):
            if task is not None:
                await asyncio.wait([task])
        await self._worker.close()

    # Doing

    def _react(self, ready: Ready) -> None:
        """To what nobody waits for: if it cannot be done, `on_failure` was told."""
        with suppress(ApiError):
            self._do(ready)

    def _do(self, ready: Ready, *, can_wait: bool = False) -> None:
        try:
            if ready.persist is not None:
                # On the loop: it is rare, and nothing may be said before it is safe.
                self._store.write_election(ready.persist)
            if ready.truncate_to is not None:
                self._cuts += 1
                self._store.log.truncate_to(ready.truncate_to, self._clock.wall())
            if ready.append:
                self._append(ready, can_wait=can_wait)
            if ready.snapshot is not None:
                self._take_piece(ready.snapshot)
        except OSError as error:
            self.fail(error)
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        for send in ready.send:
            self._send(send)
        self._tell()
        self._set_alarm()

    def _append(self, ready: Ready, *, can_wait: bool) -> None:
        for place, batch in enumerate(ready.append):
            try:
                self._store.append(batch)
            except OSError:
                for lost in reversed(ready.append[place:]):
                    self.raft.withdraw(lost)
                raise
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
        if self._is_closed or self.failure is not None:
            return
        now = self._clock.monotonic()
        try:
            ready = self.raft.hear(send, answer, now)
        except CorruptFrame as error:
            # Nothing of it was taken. A leader who goes on like this is not heard for too long, and replaced.
            log.error("the leader sent what is no metadata log: node=%s %s", send.to, error)
            ready = self.raft.hear(send, None, now)
        except LostCommitted as error:
            self.fail(OSError(f"the leader lacks what is committed, so nobody may go on: {error}"))
            return
        self._react(ready)

    def _tell(self) -> None:
        role = (self.raft.role, self.raft.epoch)
        seen = (self.raft.end_offset, self.raft.high_watermark)
        if role != self._role or seen != self._seen:
            self._seen = seen
            self._fetches.look_again()
        if role != self._role:
            self._role = role
            self._on_role()
        self._tell_changer()
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
        self._react(self.raft.wake(self._clock.monotonic()))

    # Snapshots of the leader's

    def _take_piece(self, piece: SnapshotAnswer) -> None:
        if self._loading is not None:
            # Of another one, or of the same again: first that one, which is perhaps not wanted any more.
            self._next_piece = piece
            return
        self._store.files.write_piece(piece)
        if piece.position + len(piece.data) < piece.size:
            self._do(self.raft.snapshot_written(self._clock.monotonic()))
        else:
            self._loading = asyncio.get_running_loop().create_task(self._load(piece))
            self._loading.add_done_callback(self._loaded)

    async def _load(self, last: SnapshotAnswer) -> None:
        """All of it is there: it becomes the beginning of the log."""
        files = self._store.files
        try:
            received = await self._worker.run(files.receive, last.snapshot, self.terms.cluster_id)
        except CorruptFrame as error:
            log.error("the leader sent what is no snapshot: %s", error)
            files.drop_part()
            self._react(self.raft.snapshot_refused(self._clock.monotonic()))
            return
        if not self.raft.is_loading(received.at):
            files.drop_received(received.at)
            return
        self._cuts += 1
        self._store.restart_at(received.at, self._clock.now())
        now = self._clock.monotonic()
        ready = self.raft.snapshot_loaded(received.at, received.voters, now)
        if self._on_snapshot is not None:
            self._on_snapshot(received)
        self._react(ready)

    def _loaded(self, ended: asyncio.Task[None]) -> None:
        self._loading = None
        piece, self._next_piece = self._next_piece, None
        if not self._fail_if(ended) and piece is not None and self._waits_for(piece):
            self._react(Ready(snapshot=piece))

    def _waits_for(self, piece: SnapshotAnswer) -> bool:
        state = self.raft.state
        is_wanted = isinstance(state, Follower) and state.snapshot == piece.snapshot
        return is_wanted and not self._is_closed

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
            self._react(self.raft.flushed(flush.end_offset, self._clock.monotonic()))

    def _synced(self, ended: asyncio.Task[None]) -> None:
        self._round = None
        # When the loop ends nobody is left to begin another round for.
        if not self._fail_if(ended) and not ended.cancelled() and not self._is_closed:
            self.sync()

    def _fail_if(self, ended: asyncio.Task[None]) -> bool:
        error = None if ended.cancelled() else ended.exception()
        if error is None:
            return False
        if not isinstance(error, OSError):
            error = OSError(f"the metadata log is no longer written: {error!r}")
        self.fail(error)
        return True

    def _sync_idle(self) -> None:
        self._idle_sync = None
        self.sync()

    def fail(self, error: OSError) -> None:
        """Final: after a failed write or fsync nobody knows what is on disk."""
        if self.failure is None:
            self.failure = error
            self._on_failure(error)
