"""Coordinator: one topic's shards on this broker, and the clients that wait for them.

A request finds its shard by the name of its group or transaction. The shard decides, its records are appended and
replayed, and the reply goes out when they are committed: at once where this broker is the only replica. There is no
task and no future per request; whoever waits is a token.

A shard lives as long as this broker leads its partition. Until its log is replayed clients are told to come again. While too
few replicas are in sync nothing is decided that would have to be written: who only reads is served, sessions do not end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.placement import partition_of
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.runtime import Runtime
from klamm.coordinator.shard import NOTHING, Outcome, Producer, Reply, Shard
from klamm.metadata.image import ClusterImage
from klamm.replication.partition import Partition
from klamm.server.call import Message, Steps
from klamm.server.coordination.loading import Loads, Topic
from klamm.server.coordination.partition_log import PartitionLog
from klamm.server.network.pending import PARKED, Parked

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.call import Call

log = logging.getLogger(__name__)

ShardT = TypeVar("ShardT", bound=Shard)
Decide = Callable[[ShardT, Token], Outcome]

# From so many questions on a request is answered in turns.
_MANY = 64
# About what a parked request takes in memory.
_PARKED_COST = 2_048

# How long a shard that cannot write is left alone before it is asked again what it has to do.
_PAUSE_MS = 1_000

# What a client is told when its shard's log refuses a record. It looks for the coordinator again, or tries later.
_WRITE_ERRORS = {
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


class Written(Enum):
    """What became of one record."""

    # It is not so easy.
    NOTHING = 0
    COMMITTED = 1
    WAITS = 2


class _Asked(NamedTuple):
    """Whom a token stands for."""

    partition: int
    answer: Callable[[Reply], None]


class Coordinator(Generic[ShardT]):
    def __init__(self, broker: Broker, topic: Topic, new_shard: Callable[[int], ShardT]) -> None:
        self.topic = topic
        self._broker = broker
        self._runtimes: dict[int, Runtime[ShardT]] = {}
        self._loads = Loads(broker, topic, new_shard, self._begin)
        self._asked: dict[Token, _Asked] = {}
        self._last_token = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0
        # Rings for replies that were held for too long.
        self._held_alarm: asyncio.TimerHandle | None = None
        # Shards that could not write when the metadata changed, and see it later.
        self._behind: dict[int, None] = {}
        # The shard whose records are being written, and are not replayed yet.
        self._writing: int | None = None
        # Hears of every shard that was loaded or carried something out.
        self.on_progress: Callable[[int, ShardT], None] | None = None

    # -- requests ---------------------------------------------------------------------------------------------------

    def ask(
        self,
        name: str,
        request: object,
        call: Call,
        decide: Decide[ShardT],
        *,
        is_read: bool = False,
    ) -> Message | Parked:
        """The reply, if it may be given now. An ApiError from `decide` means that nothing has changed.

        is_read: it writes nothing, or asks the shard's room itself before it changes anything.
        """
        index = self.partition_of(name)
        runtime = self._runtime(index)
        if not is_read and not runtime.is_open:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        token = self._token()
        outcome = decide(runtime.shard, token)
        mine = None
        if outcome is not NOTHING:
            for each, reply in self._carry_out(index, runtime, outcome, call.now):
                if each == token:
                    mine = reply
                else:
                    self._answer(each, reply)
        self._rearm(runtime.shard)
        if mine is None:
            self._asked[token] = _Asked(index, lambda reply: _finish(call, request, reply))
            call.connection.hold(_PARKED_COST)
            return PARKED
        if isinstance(mine, ApiError):
            raise mine
        return mine

    def look(self, name: str, decide: Decide[ShardT]) -> Message:
        """The reply of who writes nothing and may see what is not committed: it waits for nobody."""
        runtime = self._runtime(self.partition_of(name))
        outcome = decide(runtime.shard, self._token())
        assert not outcome.records
        self._rearm(runtime.shard)
        ((_, reply),) = outcome.replies
        if isinstance(reply, ApiError):
            raise reply
        return reply

    def ask_each(
        self,
        questions: Sequence[tuple[str | int, Decide[ShardT]]],
        request: object,
        call: Call,
        join: Callable[[list[Reply]], Message],
        *,
        is_read: bool = False,
    ) -> Message | Parked | Steps:
        """One request about several names, or shards. What goes wrong with one is its reply, and the others go on."""
        steps = self._ask_in_steps(questions, call, join, is_read)
        if len(questions) > _MANY:
            return steps
        try:
            while True:
                next(steps)
        except StopIteration as finished:
            response: Message | Parked = finished.value
            return response

    def _ask_in_steps(
        self,
        questions: Sequence[tuple[str | int, Decide[ShardT]]],
        call: Call,
        join: Callable[[list[Reply]], Message],
        is_read: bool,
    ) -> Generator[None, None, Message | Parked]:
        replies: list[Reply] = [_MISSING] * len(questions)
        missing = len(questions)
        is_parked = False

        def take(position: int, reply: Reply) -> None:
            nonlocal missing
            replies[position] = reply
            missing -= 1
            if is_parked and not missing:
                call.finish(join(replies))

        for position, (name, decide) in enumerate(questions):
            self._ask_one(name, decide, call.now, partial(take, position), is_read)
            yield
        if not missing:
            return join(replies)
        is_parked = True
        call.connection.hold(_PARKED_COST * missing)
        return PARKED

    def tell(
        self,
        name: str,
        decide: Decide[ShardT],
        answer: Callable[[Reply], None] | None = None,
        *,
        is_read: bool = False,
    ) -> None:
        """Ask without a client. The answer hears also of what went wrong."""
        self._ask_one(name, decide, self._broker.clock.now(), answer or _ignore, is_read)

    def _ask_one(
        self,
        name: str | int,
        decide: Decide[ShardT],
        now: Now,
        answer: Callable[[Reply], None],
        is_read: bool,
    ) -> None:
        token = self._token()
        is_known = False
        try:
            index = name if isinstance(name, int) else self.partition_of(name)
            runtime = self._runtime(index)
            if not is_read and not runtime.is_open:
                raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            outcome = decide(runtime.shard, token)
            # Before it is carried out: the reply may be given at once.
            self._asked[token] = _Asked(index, answer)
            is_known = True
            self._send(self._carry_out(index, runtime, outcome, now))
            self._rearm(runtime.shard)
        except ApiError as e:
            # A failed write has told all whose replies it held back, this one among them.
            if not is_known or self._asked.pop(token, None) is not None:
                answer(e)

    def shards(self) -> list[ShardT]:
        return [runtime.shard for runtime in self._runtimes.values()]

    @property
    def indexes(self) -> list[int]:
        """The partitions whose shards are here and loaded."""
        return list(self._runtimes)

    def shard(self, name: str) -> ShardT:
        """Who asks it directly writes nothing and sets no alarm earlier than those that are set. ApiError if it is not here."""
        return self._runtime(self.partition_of(name)).shard

    def write_one(
        self,
        name: str,
        decide: Callable[[ShardT], CoordinatorRecord | None],
        now: Now,
        answer: Callable[[Reply], None],
    ) -> Written:
        """Let a shard write one record. `answer` hears of it only if it waits for the replicas."""
        index = self.partition_of(name)
        runtime = self._runtimes.get(index)
        if runtime is None or not runtime.is_open:
            return Written.NOTHING
        record = decide(runtime.shard)
        if record is None:
            return Written.NOTHING
        if runtime.commits_at_once and runtime.is_settled:
            self._carry_out(index, runtime, Outcome((record,)), now)
            return Written.COMMITTED
        token = self._token()
        outcome = Outcome((record,), ((token, None),))
        is_committed = False
        for each, reply in self._carry_out(index, runtime, outcome, now):
            is_committed |= each == token
            self._answer(each, reply)
        if is_committed:
            return Written.COMMITTED
        self._asked[token] = _Asked(index, answer)
        return Written.WAITS

    @property
    def is_loading(self) -> bool:
        return len(self._loads) > 0

    def partition_of(self, name: str) -> int:
        topic = self._broker.image.topics_by_name.get(self.topic.name)
        if topic is None:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        return partition_of(name, len(topic.partitions))

    def home_of(self, name: str) -> Partition:
        """The partition that its records live in; ApiError if another broker leads it."""
        partition = self._broker.replicas.find(self.topic.name, self.partition_of(name))
        if partition is None or not partition.is_leader:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        return partition

    def leader_of(self, name: str) -> int:
        """The broker whose shard it is: perhaps another one."""
        state = self._broker.image.partition(self.topic.name, self.partition_of(name))
        if state is None or state.leader not in self._broker.image.brokers:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return state.leader

    def _runtime(self, index: int) -> Runtime[ShardT]:
        runtime = self._runtimes.get(index)
        if runtime is None:
            raise ApiError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                if index in self._loads
                else ErrorCode.NOT_COORDINATOR
            )
        return runtime

    def _token(self) -> Token:
        self._last_token += 1
        return self._last_token

    # -- carrying out -----------------------------------------------------------------------------------------------

    def _carry_out(
        self, index: int, runtime: Runtime[ShardT], outcome: Outcome, now: Now
    ) -> Iterable[tuple[Token, Reply]]:
        if not outcome.records:
            replies = runtime.carry_out(outcome, now)
            if self._held_alarm is None and runtime.next_deadline is not None:
                self._await_replicas()
            return replies
        self._writing = index
        try:
            replies = runtime.carry_out(outcome, now)
        except ApiError as e:
            if outcome.if_too_large is not None:
                if e.code is ErrorCode.RECORD_LIST_TOO_LARGE:
                    raise ApiError(outcome.if_too_large) from e
                if e.code is ErrorCode.NOT_ENOUGH_REPLICAS:
                    raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE) from e
            error = ApiError(_WRITE_ERRORS.get(e.code, ErrorCode.UNKNOWN_SERVER_ERROR))
            log.error("a coordinator could not write: %s-%d: %s", self.topic.name, index, e)
            for token, _ in outcome.replies:
                self._answer(token, error)
            self._reload(index)
            raise error from e
        finally:
            self._writing = None
        if not replies and runtime.next_deadline is not None:
            # The append may have committed what was written before it, when nobody listened.
            replies = list(runtime.committed())
            if self._held_alarm is None and runtime.next_deadline is not None:
                self._await_replicas()
        if self.on_progress is not None:
            self.on_progress(index, runtime.shard)
        return replies

    def _send(self, replies: Iterable[tuple[Token, Reply]]) -> None:
        for token, reply in replies:
            self._answer(token, reply)

    def _answer(self, token: Token, reply: Reply) -> None:
        asked = self._asked.pop(token, None)
        if asked is not None:
            asked.answer(reply)

    def committed(self, partition: Partition) -> None:
        """The high watermark of one of the topic's partitions rose."""
        index = partition.name.partition
        if index == self._writing:
            # By an append of our own. It is seen to when that is replayed.
            return
        runtime = self._runtimes.get(index)
        if runtime is not None:
            self._send(runtime.committed())
            if self.on_progress is not None:
                self.on_progress(index, runtime.shard)

    def end_transaction(self, index: int, producer: Producer, is_commit: bool) -> None:
        """A marker was appended to this partition. A shard that is not loaded yet will read it."""
        runtime = self._runtimes.get(index)
        if runtime is not None:
            runtime.shard.replay_end(producer, is_commit)

    def _await_replicas(self) -> None:
        deadlines = [
            each.next_deadline for each in self._runtimes.values() if each.next_deadline is not None
        ]
        if deadlines:
            delay = max(0, min(deadlines) - self._broker.clock.monotonic()) / 1000
            loop = asyncio.get_running_loop()
            self._held_alarm = loop.call_later(delay, self._give_up_replies)

    def _give_up_replies(self) -> None:
        """What was written stands, and may be committed yet: who asked has to look."""
        self._held_alarm = None
        now = self._broker.clock.monotonic()
        error = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        for runtime in list(self._runtimes.values()):
            for token in runtime.overdue(now):
                self._answer(token, error)
        if self._held_alarm is None:
            self._await_replicas()

    # -- time -------------------------------------------------------------------------------------------------------

    def _rearm(self, shard: ShardT) -> None:
        at = shard.deadlines.next
        if at is not None and (self._alarm is None or at < self._alarm_at):
            self._set_alarm(at)

    def _rearm_at(self, at: Ms) -> None:
        if self._alarm is None or at < self._alarm_at:
            self._set_alarm(at)

    def _set_alarm(self, at: Ms) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = at
        delay = max(0, at - self._broker.clock.monotonic()) / 1000
        self._alarm = asyncio.get_running_loop().call_later(delay, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        now = self._broker.clock.now()
        try:
            for index, runtime in list(self._runtimes.items()):
                if index in self._behind and runtime.is_open:
                    self._show_image(index, runtime, now)
                at = runtime.shard.deadlines.next
                if at is not None and at <= now.monotonic and runtime.is_open:
                    self._do(index, runtime, runtime.shard.wake(now), now)
        finally:
            for index, runtime in self._runtimes.items():
                if runtime.is_open and index not in self._behind:
                    self._rearm(runtime.shard)
                else:
                    self._rearm_at(now.monotonic + _PAUSE_MS)

    def _do(self, index: int, runtime: Runtime[ShardT], outcome: Outcome, now: Now) -> None:
        """What nobody asked for. If it cannot be written the shard is loaded anew, and decides again."""
        try:
            self._send(self._carry_out(index, runtime, outcome, now))
        except ApiError:
            return

    # -- leading, and no longer -------------------------------------------------------------------------------------

    def follow(self, image: ClusterImage) -> None:
        """The metadata changed: lead what is new, give up what is no longer ours, and let shards see it."""
        lost, new = self._loads.changes(image)
        for index in lost:
            self._unload(index)
        for index in new:
            self._loads.begin(index)
        now = self._broker.clock.now()
        for index, runtime in list(self._runtimes.items()):
            if runtime.is_open:
                self._show_image(index, runtime, now, image)
                self._rearm(runtime.shard)
            else:
                self._behind[index] = None
                self._rearm_at(now.monotonic + _PAUSE_MS)

    def _show_image(
        self, index: int, runtime: Runtime[ShardT], now: Now, image: ClusterImage | None = None
    ) -> None:
        self._behind.pop(index, None)
        outcome = runtime.shard.follow(image or self._broker.image, now)
        self._do(index, runtime, outcome, now)

    def _begin(self, index: int, shard: ShardT, writer: PartitionLog) -> None:
        shard.limit(writer)
        runtime = self._runtimes[index] = Runtime(shard, writer, self.topic.write_timeout_ms)
        now = self._broker.clock.now()
        self._do(index, runtime, runtime.shard.loaded(self._broker.image, now), now)
        if self.on_progress is not None:
            self.on_progress(index, runtime.shard)
        self._rearm(runtime.shard)

    def _unload(self, index: int) -> None:
        self._behind.pop(index, None)
        runtime = self._runtimes.pop(index, None)
        if runtime is not None:
            runtime.shard.close()
        self._loads.give_up(index)
        for token in [each for each, asked in self._asked.items() if asked.partition == index]:
            self._answer(token, ApiError(ErrorCode.NOT_COORDINATOR))

    def _reload(self, index: int) -> None:
        self._unload(index)
        self._loads.begin(index)

    async def close(self) -> None:
        for alarm in (self._alarm, self._held_alarm):
            if alarm is not None:
                alarm.cancel()
        await self._loads.close()


_MISSING = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _ignore(reply: Reply) -> None:
    """Nobody waits for it."""


def _finish(call: Call, request: object, reply: Reply) -> None:
    if isinstance(reply, ApiError):
        failed = call.api.fail(request, reply, call.version)
        if failed is None:
            call.connection.close()
        call.finish(failed)
    else:
        call.finish(reply)
