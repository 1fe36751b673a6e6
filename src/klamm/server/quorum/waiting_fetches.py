"""Fetches of the metadata log that found nothing new and wait until there is, or until their time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.raft.messages import Fetch, FetchAnswer
from klamm.raft.node import RaftNode
from klamm.server.loops.metadata_log import MetadataLog

Reply = Callable[[FetchAnswer], None]


class WaitingFetch:
    __slots__ = ("fetch", "max_bytes", "reply", "timer")

    def __init__(self, fetch: Fetch, max_bytes: int, reply: Reply) -> None:
        self.fetch = fetch
        self.max_bytes = max_bytes
        self.reply = reply
        self.timer: asyncio.TimerHandle | None = None


class WaitingFetches:
    """There is one for each follower and observer at most, so all are looked at whenever the log grows."""

    def __init__(self, raft: RaftNode, store: MetadataLog) -> None:
        self._raft = raft
        self._store = store
        self._waiting: dict[WaitingFetch, None] = {}

    def read(self, answer: FetchAnswer, fetch: Fetch, max_bytes: int) -> FetchAnswer:
        """The answer with the records that it has room for."""
        if answer.error is not ErrorCode.NONE or answer.diverging or answer.snapshot:
            return answer
        return replace(answer, records=self._store.read(fetch.log_end.offset, max_bytes))

    def park(self, waiting: WaitingFetch, wait_ms: Ms) -> None:
        self._waiting[waiting] = None
        loop = asyncio.get_running_loop()
        waiting.timer = loop.call_later(wait_ms / 1000, self._expire, waiting)

    def look_again(self) -> None:
        """The log has grown, more of it is committed, or this node does not lead any more."""
        for waiting in list(self._waiting):
            answer = self.read(self._raft.look(waiting.fetch), waiting.fetch, waiting.max_bytes)
            if has_news(answer, waiting.fetch):
                self._answer(waiting, answer)

    def abandon(self, waiting: WaitingFetch) -> None:
        """Whoever asked is gone."""
        if waiting in self._waiting:
            del self._waiting[waiting]
            assert waiting.timer is not None
            waiting.timer.cancel()

    def close(self) -> None:
        for waiting in list(self._waiting):
            self.abandon(waiting)

    def _expire(self, waiting: WaitingFetch) -> None:
        self._answer(waiting, self._raft.look(waiting.fetch))

    def _answer(self, waiting: WaitingFetch, answer: FetchAnswer) -> None:
        self.abandon(waiting)
        waiting.reply(answer)


def has_news(answer: FetchAnswer, fetch: Fetch) -> bool:
    """A fetcher that does not say what it knows to be committed (before Fetch v18) is not woken for that alone."""
    return bool(
        answer.error is not ErrorCode.NONE
        or answer.records
        or answer.diverging
        or answer.snapshot
        or answer.high_watermark > fetch.high_watermark
    )
