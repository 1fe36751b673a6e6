"""Replica fetchers: the partitions whose leaders are other brokers are fetched from there, over connections of their own.

One LeaderFetcher per leader (and per number below num.replica.fetchers). No task: a request is on its way, and its answer is
appended and followed by the next request in the same breath. What must wait for disk or network, a cut or a question, is done
beside it, and the partition in question is left out meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.log.disk import File
from klamm.log.log import Log
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.compile import decoder
from klamm.protocol.messages.fetch import FetchResponse, PartitionData
from klamm.protocol.records.checksum import crc32c
from klamm.replication.fetch_bytes import VERSIONS, Part, read_answer
from klamm.replication.fetcher import Fetched, Outcome, ReplicaFetcher, State
from klamm.replication.follower import truncate_fully_and_start_at, truncate_to
from klamm.replication.partition import Partition, Role
from klamm.server.peers.channel import PeerChannel, PeerUnavailable
from klamm.server.peers.leader_offsets import LeaderOffsets, ask_offsets
from klamm.storage.log_directories import Checkpoint, LogDirectory

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

# A leader that does not answer is tried again soon: metadata will say who leads instead.
_FIRST_PAUSE_MS: Ms = 20
# A fetch that waits for records is broken off for a partition that is new, but not for each of a thousand.
_LEAST_BETWEEN_INTERRUPTIONS_MS: Ms = 20
_PARTITIONS_PER_MS = 10


_FETCH = 1
# Correlation id and no tags.
_HEADER_SIZE = 5


class ReplicaFetchers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._count = broker.settings.replication.num_fetchers
        self._fetchers: dict[tuple[int, int], LeaderFetcher] = {}
        # By whom each partition is fetched, and which of that name: a topic may be made again.
        self._by: dict[TopicPartition, tuple[LeaderFetcher, Partition]] = {}
        # Cut, and not safe on disk yet: nothing may be appended to them.
        self._cutting: dict[TopicPartition, Partition] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._by)

    def follow(self, changed: Iterable[Partition]) -> None:
        """The metadata said something about these: begin, stop, or go to another leader."""
        self._resize()
        touched: dict[LeaderFetcher, None] = {}
        for partition in changed:
            fetcher = self._assign(partition)
            if fetcher is not None:
                touched[fetcher] = None
        for fetcher in touched:
            fetcher.go_on()
        for key, fetcher in list(self._fetchers.items()):
            if not len(fetcher.machine):
                fetcher.close()
                del self._fetchers[key]

    def started_later(self, partition: Partition) -> None:
        """Retention moved the start of the log."""
        found = self._by.get(partition.name)
        if found is not None:
            found[0].machine.started_later(partition)

    def is_cutting(self, partition: Partition) -> bool:
        return partition.name in self._cutting

    def log_replaced(self, partition: Partition) -> None:
        """It was moved to another directory: fetching goes on into the new log."""
        if partition.name in self._by:
            self._stop(partition.name)
            self.follow([partition])

    def settle(self, partition: Partition) -> None:
        """Before anybody but a fetcher may append: if the log was cut just now, the loop waits until that is safe."""
        if partition.name in self._cutting:
            self._broker.checkpointer.settle()

    def close(self) -> None:
        self._is_closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._by.clear()

    # -- who fetches what ---------------------------------------------------------------------------------------------

    def _assign(self, partition: Partition) -> LeaderFetcher | None:
        """Returns the fetcher that has something new to ask."""
        name = partition.name
        is_ours = partition.role is Role.FOLLOWER and partition.leader_id >= 0
        if not is_ours or name in self._cutting or self._is_closed:
            found = self._by.get(name)
            if found is not None and found[1] is partition:
                self._stop(name)
            return None
        key = (partition.leader_id, crc32c(str(name).encode()) % self._count)
        old, its_partition = self._by.get(name, (None, None))
        if old is not None and old.key == key and its_partition is partition:
            fetched = old.machine.find(partition)
            if fetched is not None and fetched.leader_epoch == partition.leader_epoch:
                return None
        elif old is not None:
            self._stop(name)
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            fetcher = self._fetchers[key] = LeaderFetcher(self._broker, self, key)
        fetcher.machine.add(partition)
        self._by[name] = (fetcher, partition)
        return fetcher

    def _stop(self, name: TopicPartition) -> None:
        fetcher, partition = self._by.pop(name)
        fetcher.machine.remove(partition)

    def _resize(self) -> None:
        """num.replica.fetchers may change at any time: then everybody moves."""
        image = self._broker.image
        name = "num.replica.fetchers"
        text = image.config(ResourceType.BROKER, "").get(name)
        count = int(text) if text else self._broker.settings.replication.num_fetchers
        if count != self._count:
            self._count = count
            for partition in self._broker.replicas:
                self._assign(partition)
            for fetcher in self._fetchers.values():
                fetcher.go_on()

    def drop(self, partition: Partition) -> None:
        self._by.pop(partition.name, None)

    # -- cutting ------------------------------------------------------------------------------------------------------

    async def cut(self, cuts: Iterable[Fetched]) -> None:
        """Forget what the leaders do not have. Files and recovery points are safe on disk before anything is appended."""
        files: list[File] = []
        homes: dict[LogDirectory, list[Partition]] = {}
        for fetched in cuts:
            partition = fetched.partition
            cut = self._cut(partition, fetched)
            if cut is not None:
                files += cut
                self._cutting[partition.name] = partition
                homes.setdefault(self._broker.replicas.home_of(partition), []).append(partition)
        try:
            await self._make_safe(files, homes)
        finally:
            waiting = [each for partitions in homes.values() for each in partitions]
            for partition in waiting:
                del self._cutting[partition.name]
            for partition in waiting:
                self._resume(partition)
            # A topic may have been made again meanwhile.
            find = self._broker.replicas.find
            self.follow([find(*each.name) or each for each in waiting])

    def _cut(self, partition: Partition, fetched: Fetched) -> list[File] | None:
        """The files that must be synced; None if there was nothing to do."""
        before, high_watermark = partition.log.end_offset, partition.high_watermark
        epoch, now = fetched.leader_epoch, self._broker.clock.wall()
        try:
            if fetched.begins_anew:
                truncate_fully_and_start_at(partition, fetched.cut_at, epoch, now)
                files = []
            else:
                file = truncate_to(partition, fetched.cut_at, epoch, now)
                files = [] if file is None else [file]
        except ApiError:
            # The leader changed again, or our disk failed.
            return None
        tell = log.warning if partition.log.end_offset < high_watermark else log.info
        tell(
            "truncated a log to follow its leader: partition=%s leader=%s epoch=%s from=%s to=%s high_watermark=%s",
            partition.name,
            partition.leader_id,
            epoch,
            before,
            partition.log.end_offset,
            high_watermark,
        )
        return files

    async def _make_safe(
        self, files: list[File], homes: dict[LogDirectory, list[Partition]]
    ) -> None:
        points: list[Checkpoint] = []
        for home in homes:
            checkpoint = home.new_recovery_points()
            if checkpoint is not None:
                points.append(checkpoint)
        try:
            await self._broker.checkpointer.sync(files, points)
        except OSError as e:
            # Which of them is not known, and of none can be said that it is safe.
            for home in homes:
                self._broker.directory_failed(home, e)

    def _resume(self, partition: Partition) -> None:
        found = self._by.get(partition.name)
        fetched = found[0].machine.find(partition) if found is not None else None
        if found is not None and fetched is not None and fetched.state is State.WAITING:
            found[0].machine.resume(fetched)
            found[0].go_on()


class LeaderFetcher:
    """Fetches from one leader. At any time a request is on its way, or an alarm is set, or there is nothing to fetch."""

    def __init__(self, broker: Broker, fetchers: ReplicaFetchers, key: tuple[int, int]) -> None:
        self.key = key
        self.leader_id, self._number = key
        self.machine = ReplicaFetcher(broker.node_id, broker.settings.replication)
        self._broker = broker
        self._fetchers = fetchers
        self._settings = broker.settings.replication
        self._clock = broker.clock
        self._timeout_ms = self._settings.socket_timeout_ms + self._settings.fetch_wait_max_ms
        self._channel: PeerChannel | None = None
        # In which the fetches of this connection may be written by hand; None: not known, or none.
        self._version: int | None = None
        self._alarm: asyncio.TimerHandle | None = None
        # The request on its way; an answer to an earlier one is not heard any more.
        self._asked = 0
        self._is_asking = False
        # The rest of an answer that is too long for one turn.
        self._parts: Iterator[tuple[Fetched, PartitionData | Part]] | None = None
        # What must be on disk before the next request tells the leader that we have it (flush.messages).
        self._unflushed: dict[Partition, None] = {}
        self._is_flushing = False
        self._failures = 0
        self._interrupted_at: Ms = 0
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        self._parts = None
        self._cancel_alarm()
        self._hang_up()

    def go_on(self) -> None:
        """There is something new to ask."""
        if self._is_closed or self._parts is not None or self._is_flushing:
            return
        if not self._is_asking:
            self._ask()
            return
        # The request on its way may wait at the leader for records of others.
        now = self._clock.monotonic()
        gap = _LEAST_BETWEEN_INTERRUPTIONS_MS + len(self.machine) // _PARTITIONS_PER_MS
        if now - self._interrupted_at >= gap:
            self._interrupted_at = now
            self._hang_up()
            self.machine.lost()
            self._ask()
        else:
            self._ring_in(self._interrupted_at + gap - now)

    # -- asking -------------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        if self._alarm is not None:
            self._cancel_alarm()
        now = self._clock.monotonic()
        if self._channel is not None and self._ask_usual(self._channel, now):
            return
        request = self.machine.request(self._broker.quorum.broker_epoch, now)
        if request is None:
            ends = self.machine.next_pause_ends()
            if ends is not None:
                self._ring_in(max(ends - now, 1))
            return
        try:
            channel = self._open()
        except ApiError:
            # Metadata does not know where it is, yet or any more.
            self._failed()
            return
        self._is_asking = True
        self._asked += 1
        channel.send(request, partial(self._heard, self._asked), timeout_ms=self._timeout_ms)

    def _ask_usual(self, channel: PeerChannel, now: Ms) -> bool:
        """A session that goes on, over a connection that is known: bytes, without a message in between."""
        version = self._version
        if version is None:
            version = self._version = _usual_version(channel)
        if version is None or not channel.is_open:
            return False
        frame = channel.begin_frame()
        if not self.machine.write_request(frame, self._broker.quorum.broker_epoch, now):
            return False
        self._is_asking = True
        self._asked += 1
        deadline = now + self._timeout_ms
        channel.send_frame(_FETCH, version, frame, self._heard_frame, deadline)
        return True

    def _open(self) -> PeerChannel:
        peers = self._broker.peers
        if self._channel is not None:
            if (self._channel.host, self._channel.port) == peers.address_of(self.leader_id):
                return self._channel
            self._hang_up()
        client_id = f"broker-{self._broker.node_id}-fetcher-{self._number}"
        self._channel = peers.open(self.leader_id, client_id=client_id)
        return self._channel

    def _hang_up(self) -> None:
        self._is_asking = False
        self._version = None
        self._asked += 1
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _failed(self) -> None:
        """No answer: try again soon, then less often. New metadata does not wait for it."""
        self.machine.lost()
        pause = min(_FIRST_PAUSE_MS << min(self._failures, 16), self._settings.fetch_backoff_ms)
        self._failures += 1
        self._ring_in(max(pause, 1))

    def _ring_in(self, ms: Ms) -> None:
        self._cancel_alarm()
        self._alarm = asyncio.get_running_loop().call_later(ms / 1000, self._rung)

    def _rung(self) -> None:
        self._alarm = None
        self.go_on()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # -- the answer ---------------------------------------------------------------------------------------------------

    def _heard_frame(self, frame: memoryview | None) -> None:
        """Of the one frame that is on its way: whoever hangs up is not asking any more, and hears of the end at once."""
        if not self._is_asking:
            return
        if frame is None:
            self._heard(self._asked, None)
            return
        usual = read_answer(frame, _HEADER_SIZE) if not frame[_HEADER_SIZE - 1] else None
        if usual is None:
            self._heard_unusual(frame)
            return
        self._is_asking = False
        self._failures = 0
        session_id, parts = usual
        self.machine.answered_well(session_id)
        self._parts = self.machine.usual_parts(parts)
        self._take_turn()

    def _heard_unusual(self, frame: memoryview) -> None:
        assert self._version is not None
        try:
            response, _ = decoder(FetchResponse, self._version)(frame, _HEADER_SIZE)
        except CorruptFrame as e:
            log.warning("a leader's answer is unreadable: leader=%s reason=%s", self.leader_id, e)
            self._hang_up()
            self._failed()
            return
        self._heard(self._asked, response)

    def _heard(self, asked: int, response: FetchResponse | None) -> None:
        if asked != self._asked or self._is_closed:
            return
        self._is_asking = False
        if response is None:
            self._version = None
            self._failed()
            return
        error = self.machine.answered(response)
        if error:
            log.info("a leader refused a fetch: leader=%s error=%s", self.leader_id, error.name)
            self._failed()
            return
        self._failures = 0
        self._parts = self.machine.parts(response)
        self._take_turn()

    def _take_turn(self) -> None:
        """Append what came. A long answer takes several turns, with others served in between."""
        if self._parts is None:
            return
        machine, committed = self.machine, self._broker.committed
        syncs = self._broker.acknowledges_after_flush
        turn = self._broker.world.turns.begin()
        now = self._clock.now()
        cuts: list[Fetched] = []
        lost: list[Fetched] = []
        for fetched, data in self._parts:
            outcome = machine.take(fetched, data, now)
            if outcome is Outcome.COMMITTED:
                committed(fetched.partition)
            elif outcome is Outcome.TRUNCATE:
                cuts.append(fetched)
            elif outcome is Outcome.LOCATE:
                lost.append(fetched)
            elif outcome is not Outcome.TAKEN:
                self._tell(fetched, outcome)
            if syncs(fetched.partition):
                self._unflushed[fetched.partition] = None
            if turn.is_over():
                asyncio.get_running_loop().call_soon(self._take_turn)
                break
        else:
            self._parts = None
        if cuts:
            self._broker.run(self._fetchers.cut(cuts))
        if lost:
            self._broker.run(self._locate(lost))
        if self._parts is None:
            self._flush_and_ask()

    def _flush_and_ask(self) -> None:
        """As Kafka's fetchers do: all wait for the disk where one of them has to."""
        partitions, self._unflushed = self._unflushed, {}
        logs = [each.log for each in partitions if self._broker.needs_flush(each)]
        if not logs:
            self._ask()
            return

        def flushed(failed: frozenset[Log]) -> None:
            self._is_flushing = False
            self.go_on()

        self._is_flushing = True
        self._broker.flusher.flush(logs, flushed)

    def _tell(self, fetched: Fetched, outcome: Outcome) -> None:
        partition = fetched.partition
        if outcome is Outcome.GONE:
            self._fetchers.drop(partition)
        elif outcome is Outcome.DELAYED:
            # A leader that learns a moment later than we that it leads is nothing to speak of.
            level = logging.DEBUG if fetched.pauses else logging.WARNING
            log.log(
                level,
                "cannot fetch a partition now: partition=%s leader=%s error=%s",
                partition.name,
                self.leader_id,
                fetched.error.name,
            )

    # -- a log that has nothing in common with the leader's -------------------------------------------------------------

    async def _locate(self, lost: list[Fetched]) -> None:
        """Ask where the leader's logs start and end, and do as Kafka does: cut at its end, or begin anew at its start."""
        try:
            found = await ask_offsets(
                self._broker.peers.to(self.leader_id),
                self._broker.node_id,
                [(each.partition.name, each.leader_epoch) for each in lost],
            )
        except (ApiError, PeerUnavailable):
            found = {}
        now = self._clock.monotonic()
        cuts = []
        for fetched in lost:
            offsets: LeaderOffsets | None = found.get(fetched.partition.name)
            if offsets is None:
                fetched.error = ErrorCode.OFFSET_OUT_OF_RANGE
                self.machine.delay(fetched, now)
            elif self.machine.located(fetched, offsets.start, offsets.end) is Outcome.TRUNCATE:
                cuts.append(fetched)
            else:
                self.machine.resume(fetched)
        if cuts:
            await self._fetchers.cut(cuts)
        self.go_on()


def _usual_version(channel: PeerChannel) -> int | None:
    version = channel.newest(_FETCH)
    return version if version in VERSIONS else None
