"""Incremental fetch sessions (KIP-227): a client names its partitions once and then only what changed.

Pure: the ids of new sessions come from the caller. The answer to an incremental fetch leaves out the partitions that
have nothing new to say, which is what makes a consumer of 1,000 quiet partitions cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.declare import INT_MAX

if TYPE_CHECKING:
    from klamm.replication.backlog import Backlog

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1

# A session idle for this long may be dropped when a new client needs its place.
EVICTABLE_AFTER_MS = 120_000


class FetchPartition:
    """What a client asks of one partition, and what it was last told. Named by topic up to v12, by id from v13."""

    __slots__ = (
        "index",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start",
        "max_bytes",
        "offset",
        "told_high_watermark",
        "told_log_start",
        "topic",
        "topic_id",
    )

    def __init__(self, topic: str, topic_id: Uuid, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.told_high_watermark = -1
        self.told_log_start = -1

    @property
    def key(self) -> tuple[str | Uuid, int]:
        return (self.topic or self.topic_id, self.index)

    def ask(
        self,
        *,
        offset: int,
        max_bytes: int,
        leader_epoch: int,
        last_fetched_epoch: int,
        log_start: int = -1,
    ) -> None:
        """log_start: of the asker's own log, if it is a follower."""
        self.offset = offset
        self.log_start = log_start
        self.max_bytes = max_bytes
        self.leader_epoch = leader_epoch
        self.last_fetched_epoch = last_fetched_epoch

    def has_news(self, error: int, high_watermark: int, log_start: int, size: int) -> bool:
        """Whether an incremental answer must name this partition; remembers what it will be told."""
        news = (
            size > 0
            or error != ErrorCode.NONE
            or high_watermark != self.told_high_watermark
            or log_start != self.told_log_start
        )
        # After an error the client must hear from us again even if the numbers are the old ones.
        self.told_high_watermark = -1 if error else high_watermark
        self.told_log_start = log_start
        return news


class FetchSession:
    __slots__ = ("backlog", "epoch", "id", "last_used", "partitions", "uses_ids")

    def __init__(self, id: int, uses_ids: bool) -> None:
        self.id = id
        # Of a follower's session.
        self.backlog: Backlog | None = None
        self.epoch = INITIAL_EPOCH
        self.uses_ids = uses_ids
        self.last_used = 0
        self.partitions: dict[tuple[str | Uuid, int], FetchPartition] = {}

    def update(
        self, asked: Iterable[FetchPartition], forgotten: Iterable[tuple[str | Uuid, int]]
    ) -> None:
        for partition in asked:
            known = self.partitions.get(partition.key)
            if known is None:
                self.partitions[partition.key] = partition
            else:
                known.ask(
                    offset=partition.offset,
                    max_bytes=partition.max_bytes,
                    leader_epoch=partition.leader_epoch,
                    last_fetched_epoch=partition.last_fetched_epoch,
                    log_start=partition.log_start,
                )
        for key in forgotten:
            self.partitions.pop(key, None)

    def move_to_back(self, partition: FetchPartition) -> None:
        """Who was served queues up again, so that a byte limit starves nobody."""
        if self.partitions.pop(partition.key, None) is not None:
            self.partitions[partition.key] = partition


class FetchContext:
    """One request seen through its session: which partitions to read, and what to leave out of the answer."""

    __slots__ = ("is_incremental", "partitions", "session")

    def __init__(
        self,
        partitions: Sequence[FetchPartition],
        session: FetchSession | None,
        is_incremental: bool,
    ) -> None:
        self.partitions = partitions
        self.session = session
        self.is_incremental = is_incremental

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.id


class FetchSessions:
    def __init__(
        self, slots: int, new_id: Callable[[], int], *, max_partitions: int = INT_MAX
    ) -> None:
        """max_partitions: in all sessions together, which outlive their connections. Kafka counts only the sessions."""
        self._slots = slots
        self._max_partitions = max_partitions
        self._new_id = new_id
        # In order of last use: the first is the one to give up.
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def begin(
        self,
        session_id: int,
        session_epoch: int,
        asked: Sequence[FetchPartition],
        forgotten: Iterable[tuple[str | Uuid, int]] = (),
        *,
        uses_ids: bool,
        now: int,
        is_replica: bool = False,
    ) -> FetchContext:
        """is_replica: the brokers of the cluster get a session however many clients there are."""
        if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id in self._sessions:
                self._drop(session_id)
            # A partition that is named twice is asked for once, with what was said last.
            asked = list({partition.key: partition for partition in asked}.values())
            if session_epoch == FINAL_EPOCH:
                return FetchContext(asked, None, False)
            session = self._create(asked, uses_ids, now, is_replica=is_replica)
            return FetchContext(asked, session, False)
        known = self._sessions.get(session_id)
        if known is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session = known
        if session.epoch != session_epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        before = len(session.partitions)
        session.update(asked, forgotten)
        if not session.partitions:
            self._drop(session.id)
            return FetchContext((), None, False)
        has_grown = len(session.partitions) > before and not is_replica
        if has_grown and not self._has_room_for(0):
            # The client begins anew, and gets no session then.
            self._drop(session.id)
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self._use(session, now)
        return FetchContext(list(session.partitions.values()), session, True)

    def _create(
        self, asked: Sequence[FetchPartition], uses_ids: bool, now: int, *, is_replica: bool
    ) -> FetchSession | None:
        """A new session, or None when all places are taken by clients that use theirs: then fetches stay full."""
        if is_replica:
            self._drop_idle_followers(now)
        is_full = len(self._sessions) >= self._slots or not self._has_room_for(len(asked))
        if is_full and not is_replica:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now - oldest.last_used < EVICTABLE_AFTER_MS:
                return None
            self._drop(oldest.id)
            if not self._has_room_for(len(asked)):
                return None
        id = self._new_id()
        while id in self._sessions or id == NO_SESSION:
            id = self._new_id()
        session = FetchSession(id, uses_ids)
        session.update(asked, ())
        self._use(session, now)
        return session

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id)
        if session.backlog is not None:
            session.backlog.close()

    def _drop_idle_followers(self, now: int) -> None:
        """Of brokers that were started anew, or no longer follow."""
        for session in list(self._sessions.values()):
            if now - session.last_used < EVICTABLE_AFTER_MS:
                return
            if session.backlog is not None:
                self._drop(session.id)

    def _has_room_for(self, more: int) -> bool:
        held = sum(len(session.partitions) for session in self._sessions.values())
        return held + more <= self._max_partitions

    def _use(self, session: FetchSession, now: int) -> None:
        session.epoch = session.epoch + 1 if session.epoch < _MAX_EPOCH else 1
        session.last_used = now
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = session
