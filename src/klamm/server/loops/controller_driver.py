"""ControllerDriver: the active controller of the cluster, while this node leads the quorum.

    submit -> the controller decides on the newest image, committed or not -> the raft driver appends and syncs
    -> committed: the follower publishes the image -> the submitter gets its answer

It begins when the node's first record as a leader is committed, on the image that holds then, and forgets everything
that was not committed when the node is deposed: whoever waits is told NOT_CONTROLLER and asks the next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.broker import Settings
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.controller.heartbeats import NEVER
from klamm.metadata import framing
from klamm.metadata.features import HAS_TRANSACTIONS, LATEST, METADATA_VERSION
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.log import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from klamm.metadata.replay import apply
from klamm.raft.roles import Follower, Leader
from klamm.server.controller_port import OPERATIONS, OPERATIONS_OF_CLIENTS, Origin
from klamm.server.loops.controller_journal import Journal
from klamm.server.loops.metadata_follower import MetadataFollower, Step
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.world.ports import World

T = TypeVar("T")
Operation = Callable[[Controller, Now], Decision[T]]

# What one batch of the metadata log holds at most; more than that is split. Kafka's number.
_MAX_RECORDS_PER_BATCH = 10_000
# An alarm that rings so much later than it should have means that this process did not run, and could hear nobody.
_ASLEEP_MS: Ms = 500


class _Waiting(Generic[T]):
    """Who is answered once the image is published up to end_offset."""

    __slots__ = ("answer", "end_offset", "reply")

    def __init__(self, end_offset: int, reply: T, answer: asyncio.Future[T]) -> None:
        self.end_offset = end_offset
        self.reply = reply
        self.answer = answer


class ControllerDriver:
    def __init__(
        self,
        world: World,
        settings: Settings,
        *,
        raft: RaftDriver,
        follower: MetadataFollower,
        bootstrap: Callable[[], Sequence[object]],
        on_active: Callable[[], None],
    ) -> None:
        """bootstrap: the first records of a cluster that has none. on_active: this node decides from now on."""
        self._settings = settings
        self._clock = world.clock
        self._chance = world.chance
        self._raft = raft
        self._follower = follower
        self._controller: Controller | None = None
        self.journal = Journal()
        self._waiting: deque[_Waiting[object]] = deque()
        # Where the last decision ends in the log, whoever waits for it or not; and up to where the image is published.
        self._decided = self._published = 0
        self._bootstrap = bootstrap
        self._on_active = on_active
        self._timer: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: Ms = NEVER
        # The leader that this node has followed last, and when it gave it up.
        self._led_by: int | None = None
        self._lost_at: Ms = NEVER

    @property
    def is_active(self) -> bool:
        return self._controller is not None

    @property
    def image(self) -> ClusterImage:
        """The newest one, on which the next decision builds: not all of it may be committed."""
        return self._controller.image if self._controller is not None else self._follower.image

    def role_changed(self) -> None:
        """A new role, or the same one in another epoch: what was not committed is not ours to promise any more."""
        self._note_leader()
        if self._controller is not None:
            self._controller = None
            self._decided = 0
            self._follower.forget_steps()
            self._cancel_timers()
            self._tell_all(
                ApiError(ErrorCode.NOT_CONTROLLER, "Another node is the active controller now.")
            )

    def _note_leader(self) -> None:
        state = self._raft.raft.state
        if isinstance(state, Follower):
            self._led_by, self._lost_at = state.leader_id, NEVER
        else:
            self._lost_at = min(self._lost_at, self._clock.monotonic())

    def published(self, end_offset: int) -> None:
        """The image holds what is committed up to there."""
        self._published = end_offset
        while self._waiting and self._waiting[0].end_offset <= end_offset:
            waiting = self._waiting.popleft()
            if not waiting.answer.cancelled():
                waiting.answer.set_result(waiting.reply)
        state = self._raft.raft.state
        if (
            self._controller is None
            and isinstance(state, Leader)
            and end_offset > state.epoch_start
        ):
            self._activate(end_offset)

    def _activate(self, end_offset: int) -> None:
        if end_offset < self._raft.raft.end_offset:
            return
        if self._follower.in_transaction:
            # The last leader died within a transaction: nobody will ever end it.
            abort = AbortTransactionRecord(reason="a new leader took over")
            level = self._follower.image.metadata_version
            self._raft.propose([framing.encode(abort, level)])
            return
        self._controller = Controller(
            self._follower.image, self._settings, self._chance, self._clock.now()
        )
        if self._led_by is not None:
            # Its node has not answered for as long as it took to give it up: so long its broker was silent, too.
            since = self._lost_at - self._settings.quorum.fetch_timeout_ms
            self._controller.silent_since(self._led_by, since)
            self._led_by = None
        if not self._follower.image.features:
            # A new log, or one whose first leader crashed before its bootstrap records were safe.
            with suppress(ApiError):
                self._append(self._bootstrap())
        self._keep_alive_later()
        self._set_alarm()
        self._on_active()

    # Deciding

    async def ask(self, request: object) -> Any:
        """Implements ControllerPort, while this node is the active controller."""
        operation = OPERATIONS[type(request)]
        return await self.submit(lambda controller, now: operation(controller, request, now))

    async def forward(self, request: object, origin: Origin) -> Any:
        """The image in which the controller decides is this node's own."""
        operation = OPERATIONS_OF_CLIENTS.get(type(request))
        if operation is None:
            return await self.ask(request)
        return await self.submit(
            lambda controller, now: operation(controller, request, origin.principal, now)
        )

    def submit(self, operation: Operation[T]) -> asyncio.Future[T]:
        """Decide at once, on the newest image; the answer comes when the records it saw and wrote are safe.

        Raises at once what the operation raises; then nothing has changed.
        """
        self._check()
        if self._controller is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
        self._move_on()
        decision = operation(self._controller, self._clock.now())
        if decision.raises_kraft_version:
            self._raft.raise_kraft_version(validate_only=decision.validate_only)
            self._decided = self._raft.raft.end_offset
        if decision.records:
            self._append(decision.records)
        self._set_alarm()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if not decision.records and not self._waiting and self._decided <= self._published:
            answer.set_result(decision.reply)
            return answer
        waiting = _Waiting(self._raft.raft.end_offset, decision.reply, answer)
        self._waiting.append(waiting)  # type: ignore[arg-type]
        self._raft.sync()
        return answer

    def _check(self) -> None:
        if self._raft.failure is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The metadata log cannot be written.")

    def _move_on(self) -> None:
        """Control records of the quorum also take offsets; a broker's epoch is the offset of its registration."""
        assert self._controller is not None
        last = self._raft.raft.end_offset - 1
        if self._controller.image.offset != last:
            self._controller.image = replace(self._controller.image, offset=last)
        self._controller.kraft_version = self._raft.kraft_version

    def _append(self, records: Sequence[object], *, can_wait: bool = False) -> None:
        """As one batch. Very many take several, in a transaction: a new leader may find some of them, and undoes those."""
        assert self._controller is not None
        image = self._controller.image
        self.journal.note(records, image, self._raft.raft.voters.ids)
        if len(records) <= _MAX_RECORDS_PER_BATCH:
            self._append_together(records, can_wait=can_wait)
        elif image.metadata_version >= HAS_TRANSACTIONS:
            whole = [BeginTransactionRecord(name="Large decision"), *records]
            self._append_together([*whole, EndTransactionRecord()], can_wait=can_wait)
        else:
            for some in _parts(records):
                self._append_together(some, can_wait=can_wait)

    def _append_together(self, records: Sequence[object], *, can_wait: bool) -> None:
        """Replay on the image first, which changes nothing: what cannot be replayed must not reach the log."""
        assert self._controller is not None
        raft = self._raft.raft
        base = raft.end_offset
        level = self._controller.image.metadata_version
        values = [framing.encode(record, level) for record in records]
        if level < LATEST[METADATA_VERSION]:
            # Old forms of records say less: this node must not know more than those that read the log.
            records = [framing.decode(value) for value in values]
        image, delta = apply(
            self._controller.image,
            records,
            offset=base + len(records) - 1,
            epoch=raft.epoch,
            timestamp=self._clock.wall(),
        )
        end_offset = base
        for some in _parts(values):
            end_offset = self._raft.propose(some, can_wait=can_wait)
        if not can_wait:
            self._decided = end_offset
        self._controller.image = image
        self._follower.prepare(Step(base, end_offset, image, delta))

    def fail(self, error: OSError) -> None:
        """Nobody knows what is on disk: whoever waits is told."""
        self._tell_all(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))

    def _tell_all(self, error: ApiError) -> None:
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(error)

    # An idle log

    def _keep_alive_later(self) -> None:
        interval = self._settings.quorum.metadata_max_idle_interval_ms
        if interval > 0 and self._raft.failure is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(interval / 1000, self._keep_alive)

    def _keep_alive(self) -> None:
        idle_ms = self._clock.monotonic() - self._raft.appended_at
        if (
            self._controller is not None
            and idle_ms >= self._settings.quorum.metadata_max_idle_interval_ms
        ):
            with suppress(ApiError):
                decision = self._controller.keep_alive(self._clock.now())
                self._append(decision.records, can_wait=True)
        self._keep_alive_later()

    # What is due by time: sessions that end

    def _set_alarm(self) -> None:
        """A session that is renewed ends later than the alarm rings: it is not set anew for that."""
        if self._controller is None or self._raft.failure is not None:
            return
        at = self._controller.next_wake
        if at >= self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = at
        delay = max(0, at - self._clock.monotonic()) / 1000
        self._alarm = asyncio.get_running_loop().call_later(delay, self._wake)

    def _wake(self) -> None:
        late = self._clock.monotonic() - self._alarm_at
        self._alarm, self._alarm_at = None, NEVER
        controller = self._controller
        if controller is None or self._raft.failure is not None:
            return
        if late > _ASLEEP_MS:
            controller.slept(late)
        if controller.next_wake <= self._clock.monotonic():
            with suppress(ApiError):
                self._decide(Controller.wake)
        self._set_alarm()

    def connection_lost(self, broker_id: int) -> None:
        """A broker's connection closed, and nobody listens at its address any more."""
        if self._controller is not None and self._raft.failure is None:
            with suppress(ApiError):
                self._decide(lambda controller, now: controller.connection_lost(broker_id, now))

    def lives_here(self, broker_id: int) -> None:
        """That broker is a part of this process, and has just been heard."""
        if self._controller is not None:
            self._controller.lives_here(broker_id)

    def _decide(self, operation: Operation[None]) -> None:
        """Nobody waits for it."""
        assert self._controller is not None
        self._move_on()
        decision = operation(self._controller, self._clock.now())
        if decision.records:
            self._append(decision.records)

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._alarm):
            if timer is not None:
                timer.cancel()
        self._timer = self._alarm = None
        self._alarm_at = NEVER

    def close(self) -> None:
        self._cancel_timers()


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), _MAX_RECORDS_PER_BATCH):
        yield items[at : at + _MAX_RECORDS_PER_BATCH]
