"""MetadataQuorum: drives the quorum of one that holds what the cluster knows.

The shell around three machines: raft says what to write and what is committed, replay turns records into images,
the controller turns requests into records. Here are the log, the fsync thread and the futures of those who wait.

    submit -> the controller decides on the newest image -> append -> fsync, in a worker thread, for all that came
    meanwhile -> committed: the image is published, the callbacks hear of it, the submitter gets its answer
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.log.results import Origin
from klamm.metadata import framing
from klamm.metadata.delta import Delta
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.metadata.records.log import AbortTransactionRecord
from klamm.metadata.replay import Replayer, apply
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from klamm.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from klamm.raft.node import Batch, RaftNode
from klamm.server.loops.joining import bootstrap_decision, broker_request, controller_request
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.storage import DataDirectories, StorageError
from klamm.server.world.ports import World

T = TypeVar("T")
Operation = Callable[[Controller, Ms], Decision[T]]
# What follows a change may take long (a thousand logs are created); it is done in steps.
Callback = Callable[[ClusterImage, Delta], Iterable[None] | None]

# No-op records are nobody's answer: they reach the disk together, or with the next record that is.
_SYNC_IDLE_AFTER_SECONDS = 5.0
# At a clean stop a snapshot is written if the next start would otherwise replay more than this.
_REPLAY_BYTES_AT_START = 1 << 19
_ON_NOTHING = Delta()


class _Waiting(Generic[T]):
    """What becomes visible, and who is answered, once the log is safe up to end_offset."""

    __slots__ = ("answer", "delta", "end_offset", "image", "reply")

    def __init__(
        self,
        end_offset: int,
        image: ClusterImage,
        delta: Delta,
        reply: T,
        answer: asyncio.Future[T],
    ) -> None:
        self.end_offset = end_offset
        self.image = image
        self.delta = delta
        self.reply = reply
        self.answer = answer


class MetadataQuorum:
    """`image` is what is committed: it may be shown to anybody and is replaced as a whole."""

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
        self._disk = world.disk
        self._settings = settings
        self._clock = world.clock
        self._chance = world.chance
        self._turns = world.turns
        self._directories = directories
        self._endpoints = endpoints
        self._controller_endpoints = controller_endpoints
        self._on_failure = on_failure
        self.image = ClusterImage(cluster_id=directories.cluster_id)
        self._controller = Controller(self.image, settings, world.chance)
        self._callbacks: list[Callback] = []
        self._waiting: deque[_Waiting[object]] = deque()
        self._worker = world.workers.worker("klamm-metadata")
        self._round: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._idle_sync: asyncio.TimerHandle | None = None
        self._bytes_since_snapshot = 0
        # By the clock that nobody sets.
        self._snapshot_at: Ms = 0
        self._appended_at: Ms = 0
        self._is_closing = False
        self._failure: OSError | None = None
        self._is_started = False
        self._store: MetadataLog
        self._raft: RaftNode

    # What others may know

    @property
    def epoch(self) -> int:
        return self._raft.epoch

    @property
    def end_offset(self) -> int:
        return self._raft.end_offset

    @property
    def high_watermark(self) -> int:
        return self._raft.high_watermark

    @property
    def directory_id(self) -> Uuid:
        return self._directories.metadata.id

    @property
    def kraft_version(self) -> int:
        """1 where the log names its voters, 0 where the settings do. A feature that no metadata record tells of."""
        version = self._store.voters.version
        return version.kraft_version if version is not None else 0

    @property
    def broker_epoch(self) -> int:
        return self.image.brokers[self._directories.node_id].epoch

    def on_change(self, callback: Callback) -> None:
        """Called on the loop for each committed change, before its submitter goes on."""
        self._callbacks.append(callback)

    # Starting and stopping

    async def start(self) -> None:
        """Load, lead, and register this node; when it returns the image has its broker, ready to serve."""
        now = self._clock.wall()
        node_id = self._directories.node_id
        self._store = MetadataLog(
            self._disk, self._directories.metadata.path, self._settings.quorum, now
        )
        replayer = self._store.load(self._directories.cluster_id)
        election = self._store.read_election()
        voters = self._store.voters
        # Those of a static quorum stand in the file that its last start has left, if there was one.
        ids = voters.ids if voters.is_dynamic else set(election.voters or [node_id])
        if ids != {node_id}:
            raise StorageError(
                f"The voters of {self._store.path} are {sorted(ids)}: node {node_id} cannot "
                "lead without the others, and klamm knows no quorum of several yet."
            )
        self._bytes_since_snapshot = self._store.replayed_bytes
        self._snapshot_at = self._appended_at = self._clock.monotonic()
        self._raft = RaftNode(
            node_id,
            frozenset({node_id}),
            state=election,
            log_end=self._store.end,
            voter_records=self._store.voters,
        )
        self._lead(replayer, now)
        await self._join()
        self._is_started = True
        self._keep_alive_later()

    def _lead(self, replayer: Replayer, now: Ms) -> None:
        ready = self._raft.start(now)
        assert ready.persist is not None
        self._store.write_election(ready.persist)
        (opening,) = ready.append
        self._write(opening)
        records: list[object] = []
        if replayer.in_transaction:
            # The last leader died within a transaction: nobody will ever end it.
            records = [AbortTransactionRecord(reason="a new leader took over")]
            (opening,) = self._raft.propose(self._encode(records), now).append
            self._write(opening)
        replayer.replay(
            records, last_offset=opening.end_offset - 1, epoch=opening.epoch, timestamp=now
        )
        self._controller.image, _ = replayer.publish()

    async def _join(self) -> None:
        """All these build on each other without waiting; one fsync makes them safe together."""
        directories = self._directories
        if not self._controller.image.features:
            # A new log, or one whose first start crashed before its bootstrap records were safe.
            records = self._store.bootstrap_records()
            self.submit(lambda *_: bootstrap_decision(records, self._settings))
        controller = controller_request(
            directories, endpoints=self._controller_endpoints, chance=self._chance
        )
        broker = broker_request(
            directories, self._settings, endpoints=self._endpoints, chance=self._chance
        )
        self.submit(lambda machine, now: machine.register_controller(controller, now))
        self.submit(lambda machine, now: machine.register_broker(broker, now))
        await self.submit(lambda machine, now: machine.unfence_broker(directories.node_id, now))

    async def close(self) -> None:
        """Leave the cluster in good order. Callbacks hear nothing of it: the broker has stopped already."""
        self._callbacks.clear()
        self._is_closing = True
        for timer in (self._timer, self._idle_sync):
            if timer is not None:
                timer.cancel()
        try:
            if self._is_started and self._failure is None:
                await self._leave()
        finally:
            await self._worker.close()

    async def _leave(self) -> None:
        node_id = self._directories.node_id
        # If the disk fails now, on_failure hears of it; there is nobody else to tell.
        with suppress(ApiError, OSError):
            await self.submit(lambda machine, now: machine.shut_down_broker(node_id, now))
            if self._round is not None:
                await self._round
            if self._bytes_since_snapshot > _REPLAY_BYTES_AT_START:
                await self._snapshot()
            self._raft.resign()
            self._store.log.close(self._clock.wall())

    # Changing what the cluster knows

    def submit(self, operation: Operation[T]) -> asyncio.Future[T]:
        """Decide at once, on the newest image; the answer comes when the records it saw and wrote are safe.

        Raises at once what the operation raises; then nothing has changed.
        """
        if self._failure is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The metadata log cannot be written.")
        now = self._clock.wall()
        decision = operation(self._controller, now)
        delta = self._append(decision.records, now) if decision.records else _ON_NOTHING
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if not decision.records and not self._waiting:
            answer.set_result(decision.reply)
            return answer
        waiting = _Waiting(
            self._raft.end_offset, self._controller.image, delta, decision.reply, answer
        )
        self._waiting.append(waiting)  # type: ignore[arg-type]
        self._sync()
        return answer

    async def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        return await self.submit(lambda machine, now: machine.create_topics(request, now))

    async def allocate_producer_ids(self) -> range:
        """A block of ids that nobody else has."""
        request = AllocateProducerIdsRequest(
            broker_id=self._directories.node_id, broker_epoch=self.broker_epoch
        )
        block = await self.submit(lambda machine, now: machine.allocate_producer_ids(request, now))
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    def _append(self, records: Sequence[object], now: Ms) -> Delta:
        """Replay on the image first, which changes nothing: what cannot be replayed must not reach the log."""
        image, delta = apply(
            self._controller.image,
            records,
            offset=self._raft.end_offset + len(records) - 1,
            epoch=self._raft.epoch,
            timestamp=now,
        )
        (batch,) = self._raft.propose(self._encode(records), now).append
        self._write(batch)
        self._controller.image = image
        return delta

    def _encode(self, records: Sequence[object]) -> list[bytes]:
        level = self._controller.image.metadata_version
        return [framing.encode(record, level) for record in records]

    def _write(self, batch: Batch) -> None:
        now = batch.timestamp
        try:
            self._store.log.append(
                batch.data, leader_epoch=batch.epoch, now=now, origin=Origin.RAFT
            )
        except OSError as error:
            self._raft.withdraw(batch)
            self._fail(error)
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        self._bytes_since_snapshot += len(batch.data)
        self._appended_at = self._clock.monotonic()

    # Making it safe

    def _sync(self) -> None:
        if self._round is None and self._failure is None:
            self._round = asyncio.get_running_loop().create_task(self._sync_all())
            self._round.add_done_callback(self._synced)

    async def _sync_all(self) -> None:
        """Rounds of fsync until nobody waits; each serves all who came while the one before was running."""
        log = self._store.log
        while self._raft.high_watermark < self._raft.end_offset:
            flush = log.begin_flush()
            assert flush is not None
            await self._worker.run(flush.run)
            log.end_flush(flush)
            await self._commit(flush.end_offset)
            if self._wants_snapshot() and not self._is_closing:
                # Whoever submits in the meantime is served by the next round.
                await self._snapshot()

    def _synced(self, ended: asyncio.Task[None]) -> None:
        self._round = None
        error = None if ended.cancelled() else ended.exception()
        if isinstance(error, OSError):
            self._fail(error)
        elif error is not None:
            self._fail(OSError(f"the metadata log is no longer followed: {error!r}"))
        elif self._waiting:
            self._sync()

    async def _commit(self, end_offset: int) -> None:
        self._raft.flushed(end_offset)
        committed = self._raft.high_watermark
        while self._waiting and self._waiting[0].end_offset <= committed:
            waiting = self._waiting.popleft()
            self.image = waiting.image
            if waiting.delta:
                for callback in self._callbacks:
                    await self._in_turns(callback(waiting.image, waiting.delta))
            if not waiting.answer.cancelled():
                waiting.answer.set_result(waiting.reply)
        if committed == self._raft.end_offset:
            # No-op records have no one who waits; they only move the offset on.
            self.image = self._controller.image

    def _fail(self, error: OSError) -> None:
        """Final: after a failed write or fsync nobody knows what is on disk. Whoever waits is told."""
        self._failure = error
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
        if self._on_failure is not None:
            self._on_failure(error)

    # An idle log, and a long one

    def _keep_alive_later(self) -> None:
        interval = self._settings.quorum.metadata_max_idle_interval_ms
        if interval > 0 and self._failure is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(interval / 1000, self._keep_alive)

    def _keep_alive(self) -> None:
        idle_ms = self._clock.monotonic() - self._appended_at
        if idle_ms >= self._settings.quorum.metadata_max_idle_interval_ms:
            now = self._clock.wall()
            with suppress(ApiError):
                self._append(self._controller.keep_alive(now).records, now)
            if self._idle_sync is None:
                loop = asyncio.get_running_loop()
                self._idle_sync = loop.call_later(_SYNC_IDLE_AFTER_SECONDS, self._sync_idle)
        self._keep_alive_later()

    def _sync_idle(self) -> None:
        self._idle_sync = None
        self._sync()

    def _wants_snapshot(self) -> bool:
        quorum = self._settings.quorum
        if self._bytes_since_snapshot >= quorum.metadata_max_bytes_between_snapshots:
            return True
        age = self._clock.monotonic() - self._snapshot_at
        return 0 < quorum.metadata_max_snapshot_interval_ms <= age

    async def _snapshot(self) -> None:
        now = self._clock.now()
        at = await self._worker.run(self._store.write_snapshot, self.image, now.wall)
        self._store.note_snapshot(at, now.wall)
        self._bytes_since_snapshot = 0
        self._snapshot_at = now.monotonic

    async def _in_turns(self, steps: Iterable[None] | None) -> None:
        """Others are served in between."""
        turn = self._turns.begin()
        for _ in steps or ():
            if turn.is_over():
                await asyncio.sleep(0)
                turn = self._turns.begin()
