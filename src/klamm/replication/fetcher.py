"""ReplicaFetcher: what a follower asks of one leader, and what becomes of the answer.

Pure but for the logs it appends to: it has no socket and no clock. The shell sends `request`, hands each part of the answer
to `take`, and does what the Outcome asks for: cut a log, or find out where the leader's begins and ends.

It is the client of a fetch session (KIP-227). The leader remembers what was asked, so a request names only what changed since:
a partition with nothing new costs nothing, on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import cast

from klamm.base.clock import Ms, Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import Uuid
from klamm.base.settings.replication import ReplicationSettings
from klamm.log.log import Log
from klamm.log.results import UnexpectedOffset
from klamm.log.validation.of_clients import Writable
from klamm.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from klamm.replication.fetch_bytes import Part, Question, write_request
from klamm.replication.fetch_sessions import INITIAL_EPOCH, NO_SESSION
from klamm.replication.follower import append_fetched, truncate_fully_and_start_at
from klamm.replication.partition import Partition

_MAX_EPOCH = 2**31 - 1
_NO_EPOCH = -1
# Deviation: Kafka waits replica.fetch.backoff.ms after any error. A leader that has not heard yet that it leads, as after the
# creation of a topic, knows it a moment later: the first pauses are short, and each is twice as long as the one before.
_FIRST_PAUSE_MS: Ms = 20
_SHORT_PAUSES = frozenset(
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    ]
)

_NOTHING = bytearray()

Key = tuple[Uuid, int]


class State(Enum):
    FETCHING = auto()
    # Until its pause is over, or until metadata say something new.
    DELAYED = auto()
    # Until the shell has done what an Outcome asked for.
    WAITING = auto()


class Outcome(Enum):
    """What the shell does about the answer for one partition."""

    TAKEN = auto()
    # Taken, and more of the log is committed than before.
    COMMITTED = auto()
    # It answers a question that nobody asks any more.
    DROPPED = auto()
    DELAYED = auto()
    # The log goes another way than the leader's: cut it at `Fetched.cut_at`, then `resume`.
    TRUNCATE = auto()
    # Nothing of ours is in the leader's log: ask where that begins and ends, then `located`.
    LOCATE = auto()
    # Our own disk failed, or the partition is no longer ours to append to.
    GONE = auto()


# To ask an enum for its member costs more than a name of our own.
_FETCHING = State.FETCHING
_COMMITTED, _TAKEN = Outcome.COMMITTED, Outcome.TAKEN


class Fetched:
    """One partition that is fetched, and what its leader's session was told of it."""

    __slots__ = (
        "asked_epoch",
        "asked_offset",
        "asked_start",
        "begins_anew",
        "cut_at",
        "error",
        "in_session",
        "key",
        "leader_epoch",
        "log",
        "partition",
        "pauses",
        "state",
    )

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.log = partition.log
        self.leader_epoch = partition.leader_epoch
        self.key: Key = (partition.topic_id, partition.name.partition)
        self.state = State.FETCHING
        self.in_session = False
        self.asked_offset = self.asked_start = -1
        # The last epoch that we said we have.
        self.asked_epoch = _NO_EPOCH
        self.pauses = 0
        self.cut_at = -1
        # Not cut, but emptied: it begins at `cut_at`.
        self.begins_anew = False
        # The last one that the leader or the log answered with, for who tells people.
        self.error = ErrorCode.NONE

    def ask(self) -> Question:
        """What to ask now; an answer to anything that was asked before is not taken any more."""
        log = self.log
        self.asked_offset = log.end_offset
        self.asked_start = log.start_offset
        latest = log.epochs.latest
        self.asked_epoch = _NO_EPOCH if latest is None else latest
        self.in_session = True
        return Question(
            *self.key, self.leader_epoch, self.asked_offset, self.asked_epoch, self.asked_start
        )


class ReplicaFetcher:
    """The partitions that one connection to one leader fetches."""

    def __init__(self, replica_id: int, settings: ReplicationSettings) -> None:
        self._replica_id = replica_id
        self._settings = settings
        self._partitions: dict[Key, Fetched] = {}
        self._delays: Deadlines[Key] = Deadlines()
        self._session_id = NO_SESSION
        self._session_epoch = INITIAL_EPOCH
        # What the session must be told: those that ask for something else than before, and those that are gone from it.
        self._changed: dict[Key, Fetched] = {}
        self._forgotten: dict[Key, None] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Fetched]:
        return iter(self._partitions.values())

    # -- which partitions ---------------------------------------------------------------------------------------------

    def add(self, partition: Partition) -> None:
        """Fetch it from where its log ends, in its present epoch."""
        fetched = Fetched(partition)
        old = self._partitions.get(fetched.key)
        if old is not None:
            fetched.in_session = old.in_session
            self._delays.cancel(fetched.key)
        elif fetched.key in self._forgotten:
            del self._forgotten[fetched.key]
            fetched.in_session = True
        self._partitions[fetched.key] = fetched
        self._changed[fetched.key] = fetched

    def remove(self, partition: Partition) -> None:
        fetched = self._partitions.pop((partition.topic_id, partition.name.partition), None)
        if fetched is not None:
            self._leave_out(fetched)
            self._delays.cancel(fetched.key)

    def find(self, partition: Partition) -> Fetched | None:
        return self._partitions.get((partition.topic_id, partition.name.partition))

    def started_later(self, partition: Partition) -> None:
        """Retention moved the log's start: the leader wants to know."""
        fetched = self.find(partition)
        if fetched is not None and fetched.state is State.FETCHING:
            self._changed[fetched.key] = fetched

    def next_pause_ends(self) -> Ms | None:
        return self._delays.next

    def _leave_out(self, fetched: Fetched) -> None:
        """The session must not go on with it."""
        self._changed.pop(fetched.key, None)
        if fetched.in_session:
            fetched.in_session = False
            self._forgotten[fetched.key] = None

    # -- asking ---------------------------------------------------------------------------------------------------------

    def request(self, broker_epoch: int, now: Ms) -> FetchRequest | None:
        """What to ask now; None if there is nothing to fetch."""
        questions = self._questions(now)
        if questions is None:
            return None
        settings = self._settings
        return FetchRequest(
            replica_state=ReplicaState(replica_id=self._replica_id, replica_epoch=broker_epoch),
            max_wait_ms=self._max_wait(now),
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_response_max_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=self._topics(questions),
            forgotten_topics_data=self._take_forgotten(),
        )

    def write_request(self, out: bytearray, broker_epoch: int, now: Ms) -> bool:
        """The same as bytes (fetch_bytes.VERSIONS); False for one that is not usual, which is still to be asked."""
        if self._forgotten or self._session_epoch == INITIAL_EPOCH:
            return False
        settings = self._settings
        write_request(
            out,
            self._questions(now) or (),
            max_wait_ms=self._max_wait(now),
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_response_max_bytes,
            max_partition_bytes=settings.fetch_max_bytes,
            session=(self._session_id, self._session_epoch),
            replica=(self._replica_id, broker_epoch),
        )
        return True

    def _questions(self, now: Ms) -> list[Question] | None:
        """Those that the leader must be asked; none in a session with nothing new. None: there is nothing to fetch."""
        if self._delays:
            for key in self._delays.due(now):
                self.resume(self._partitions[key])
        if self._session_epoch == INITIAL_EPOCH:
            questions = [each.ask() for each in self if each.state is State.FETCHING]
            self._forgotten.clear()
            self._changed.clear()
            return questions or None
        questions = [each.ask() for each in self._changed.values()]
        self._changed.clear()
        return questions

    def _max_wait(self, now: Ms) -> Ms:
        """Not longer than until a partition's pause is over: who waits for it would wait for the whole answer."""
        wait = self._settings.fetch_wait_max_ms
        ends = self._delays.next
        return wait if ends is None else min(wait, max(ends - now, 1))

    def _topics(self, questions: Iterable[Question]) -> list[FetchTopic]:
        topics: dict[Uuid, FetchTopic] = {}
        for each in questions:
            topic = topics.get(each.topic_id)
            if topic is None:
                topic = topics[each.topic_id] = FetchTopic(topic_id=each.topic_id, partitions=[])
            topic.partitions.append(
                FetchPartition(
                    partition=each.partition,
                    current_leader_epoch=each.leader_epoch,
                    fetch_offset=each.offset,
                    last_fetched_epoch=each.last_epoch,
                    log_start_offset=each.log_start,
                    partition_max_bytes=self._settings.fetch_max_bytes,
                )
            )
        return list(topics.values())

    def _take_forgotten(self) -> list[ForgottenTopic]:
        if not self._forgotten:
            return []
        topics: dict[Uuid, list[int]] = {}
        for topic_id, index in self._forgotten:
            topics.setdefault(topic_id, []).append(index)
        self._forgotten.clear()
        return [ForgottenTopic(topic_id=each, partitions=topics[each]) for each in topics]

    # -- the answer -----------------------------------------------------------------------------------------------------

    def lost(self) -> None:
        """No answer came. What the leader's session knows is not known: begin anew."""
        self._session_epoch = INITIAL_EPOCH

    def answered(self, response: FetchResponse) -> ErrorCode:
        """The answer as a whole; `take` sees to its parts. An error is one of the session, which begins anew."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._session_id = NO_SESSION
            self._session_epoch = INITIAL_EPOCH
            return code_of(response.error_code)
        self.answered_well(response.session_id)
        return ErrorCode.NONE

    def answered_well(self, session_id: int) -> None:
        if session_id == NO_SESSION:
            self._session_id = NO_SESSION
            self._session_epoch = INITIAL_EPOCH
        elif self._session_epoch == INITIAL_EPOCH:
            self._session_id = session_id
            self._session_epoch = 1
        else:
            self._session_epoch = (
                1 if self._session_epoch == _MAX_EPOCH else self._session_epoch + 1
            )

    def parts(self, response: FetchResponse) -> Iterator[tuple[Fetched, PartitionData]]:
        """The answer's partitions, those that nobody fetches any more left out."""
        for topic in response.responses:
            for data in topic.partitions:
                fetched = self._partitions.get((topic.topic_id, data.partition_index))
                if fetched is not None:
                    yield fetched, data

    def usual_parts(self, parts: Iterable[Part]) -> Iterator[tuple[Fetched, Part]]:
        for part in parts:
            fetched = self._partitions.get((part.topic_id, part.partition))  # type: ignore[arg-type]
            if fetched is not None:
                yield fetched, part

    def take(self, fetched: Fetched, data: PartitionData | Part, now: Now) -> Outcome:
        """Append what came for one partition, or say what else is to be done."""
        if (
            fetched.asked_offset != fetched.log.end_offset
            or fetched.leader_epoch != fetched.partition.leader_epoch
            or fetched.state is not _FETCHING
        ):
            # It was told what we do not hear. Only a new session makes it say all of it again.
            self._session_epoch = INITIAL_EPOCH
            return Outcome.DROPPED
        if isinstance(data, Part):
            return self._append(
                fetched, data.records, data.high_watermark, data.log_start_offset, now
            )
        if data.error_code:
            return self._refused(fetched, code_of(data.error_code), now.monotonic)
        if data.diverging_epoch.end_offset >= 0:
            return self._diverged(fetched, data.diverging_epoch, now.monotonic)
        # Frames of peers lie in memory of their own, which may be written to.
        records = cast(Writable, data.records or _NOTHING)
        return self._append(fetched, records, data.high_watermark, data.log_start_offset, now)

    def _append(
        self, fetched: Fetched, records: Writable, high_watermark: int, log_start: int, now: Now
    ) -> Outcome:
        log, partition, epoch = fetched.log, fetched.partition, fetched.leader_epoch
        marks = {"high_watermark": high_watermark, "log_start": log_start, "now": now.wall}
        try:
            try:
                is_more_committed = append_fetched(partition, records, leader_epoch=epoch, **marks)
            except UnexpectedOffset as e:
                if log.start_offset != log.end_offset:
                    raise
                # The leader's log starts within this batch (DeleteRecords), and ours at that very offset.
                truncate_fully_and_start_at(partition, e.offset, epoch, now.wall)
                is_more_committed = append_fetched(partition, records, leader_epoch=epoch, **marks)
        except ApiError as e:
            return self._not_appended(fetched, e.code, now.monotonic)
        fetched.pauses = 0
        if fetched.asked_offset != log.end_offset or fetched.asked_start != log.start_offset:
            self._changed[fetched.key] = fetched
        return _COMMITTED if is_more_committed else _TAKEN

    def _refused(self, fetched: Fetched, error: ErrorCode, now: Ms) -> Outcome:
        fetched.error = error
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._wait(fetched)
            return Outcome.LOCATE
        self.delay(fetched, now)
        return Outcome.DELAYED

    def _not_appended(self, fetched: Fetched, error: ErrorCode, now: Ms) -> Outcome:
        fetched.error = error
        if error in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            self.remove(fetched.partition)
            return Outcome.GONE
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self._session_epoch = INITIAL_EPOCH
            return Outcome.DROPPED
        self.delay(fetched, now)
        return Outcome.DELAYED

    def _diverged(self, fetched: Fetched, leaders: EpochEndOffset, now: Ms) -> Outcome:
        fetched.begins_anew = False
        fetched.cut_at = truncation_offset(fetched.log, leaders.epoch, leaders.end_offset)
        latest = fetched.log.epochs.entries[-1:]
        if fetched.cut_at >= fetched.log.end_offset and not (
            latest and latest[0].start_offset >= fetched.log.end_offset
        ):
            # Nothing would change, and so it would go on for ever.
            fetched.error = ErrorCode.UNKNOWN_SERVER_ERROR
            self.delay(fetched, now)
            return Outcome.DELAYED
        self._wait(fetched)
        return Outcome.TRUNCATE

    def located(self, fetched: Fetched, start: int, end: int) -> Outcome:
        """Where the leader's log starts and ends, of one that could not be fetched from: cut ours, or go on."""
        ours = fetched.log.end_offset
        if start <= ours <= end:
            return Outcome.TAKEN
        # Down to the leader's end; or, if all of ours is gone there already, with nothing from its start on.
        fetched.begins_anew = end >= ours
        fetched.cut_at = start if fetched.begins_anew else end
        return Outcome.TRUNCATE

    # -- pauses ---------------------------------------------------------------------------------------------------------

    def _wait(self, fetched: Fetched) -> None:
        fetched.state = State.WAITING
        self._leave_out(fetched)

    def delay(self, fetched: Fetched, now: Ms) -> None:
        """Leave it out for a while."""
        longest = self._settings.fetch_backoff_ms
        pause = longest
        if fetched.error in _SHORT_PAUSES:
            pause = min(longest, _FIRST_PAUSE_MS << min(fetched.pauses, 16))
            fetched.pauses += 1
        fetched.state = State.DELAYED
        self._leave_out(fetched)
        self._delays.set(fetched.key, now + pause)

    def resume(self, fetched: Fetched) -> None:
        """Fetch it again, from where its log ends now."""
        if self._partitions.get(fetched.key) is fetched:
            fetched.state = State.FETCHING
            self._changed[fetched.key] = fetched


def truncation_offset(log: Log, leader_epoch: int, leader_end: int) -> int:
    """Where to cut, when the leader's largest epoch not above our last one ends at `leader_end`.

    If we do not have that epoch we cut where our largest below it ends, and ask again.
    """
    ours = log.epochs.end_offset_for(leader_epoch, log.end_offset)
    if ours is None:
        return min(leader_end, log.end_offset)
    our_epoch, our_end = ours
    if our_epoch != leader_epoch:
        return min(our_end, log.end_offset)
    return min(our_end, leader_end, log.end_offset)
