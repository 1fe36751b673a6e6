"""The cluster while a pipeline runs: where its logs end, asked once a second, and with that whether it is there.

Spark tells of the ends only with a batch, and of a cluster that is away only when its patience is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from klamm.pipeline.client import connection
from klamm.pipeline.place import Place

if TYPE_CHECKING:
    from klamm.pipeline.running.progress import Ends

Partitions: TypeAlias = Collection[tuple[str, int]]

# A slow cluster is not one that is away; of that the other client hears at once.
_ANSWER_SECONDS = 15.0
_LAST_SECONDS = 1.0
_SETTLING_SECONDS = 3.0
_NOBODY = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
}
_STALE = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}
_NO_PARTITION = ("", 0)


class Presence:
    """Whether the cluster answers, and one line for each time that this changes. `now` is in seconds."""

    def __init__(self, bootstrap: str, tell: Callable[[str], None]) -> None:
        self._bootstrap = bootstrap
        self._tell = tell
        self._lost_at: float | None = None
        self._back_at = float("-inf")

    @property
    def is_lost(self) -> bool:
        return self._lost_at is not None

    def lost(self, now: float) -> None:
        """Somebody found nobody there. What a client heard before the cluster came back may reach us after that."""
        if self._lost_at is None and now - self._back_at > _SETTLING_SECONDS:
            self._lost_at = now
            self._tell(f"the cluster at {self._bootstrap} does not answer; waiting for it")

    def answered(self, now: float, *, asked_at: float) -> bool:
        """Whether it is back with this answer. One to a question from before it was lost proves nothing."""
        if self._lost_at is None or asked_at < self._lost_at:
            return False
        away, self._lost_at, self._back_at = now - self._lost_at, None, now
        self._tell(f"the cluster at {self._bootstrap} answers again, after {away:.0f} s")
        return True


class ClusterWatch:
    """Never waits for an answer: each look takes those that came since the last one."""

    def __init__(self, place: Place, *, tell: Callable[[str], None]) -> None:
        self._settings = connection(place)
        self._admin: AdminClient | None = None
        self._presence = Presence(place.bootstrap, tell)
        self._ends: dict[tuple[str, int], int] = {}
        self._waiting: dict[tuple[str, int], Future[Any]] = {}
        self._asked_at = 0.0

    def look(self, partitions: Partitions) -> bool:
        """Asks, if no question is open. True if the cluster was away and is back."""
        is_back = self._take_answers()
        if not self._waiting:
            self._ask(partitions)
        return is_back

    @property
    def ends(self) -> Ends:
        """What was last heard."""
        return self._ends

    def heard_that_it_is_lost(self) -> None:
        """By another client, which knew it before we asked."""
        self._presence.lost(time.monotonic())

    def ask_once_more(self, partitions: Partitions) -> None:
        """For a last report: the ends as they are now, if the answer is there in a moment."""
        if not partitions:
            return
        deadline = time.monotonic() + _LAST_SECONDS
        self._ask(partitions)
        for future in self._waiting.values():
            with suppress(TimeoutError):
                future.exception(max(0.0, deadline - time.monotonic()))
        self._take_answers()

    def _ask(self, partitions: Partitions) -> None:
        self._asked_at = time.monotonic()
        self._admin = self._admin or AdminClient(self._settings)
        if not partitions or self._presence.is_lost:
            # Without a partition, and where nobody knows their leaders: any answer will do.
            asked = self._admin.describe_cluster(request_timeout=_ANSWER_SECONDS)
            self._waiting = {_NO_PARTITION: asked}
            return
        end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        # As the pipeline reads: what lies behind an open transaction cannot be processed yet.
        found = self._admin.list_offsets(
            {TopicPartition(topic, number): end for topic, number in partitions},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=_ANSWER_SECONDS,
        )
        self._waiting = {(each.topic, each.partition): future for each, future in found.items()}

    def _take_answers(self) -> bool:
        if not self._waiting or not all(future.done() for future in self._waiting.values()):
            return False
        answers, self._waiting = self._waiting, {}
        codes = set()
        for place, future in answers.items():
            codes.add(_code(future.exception()))
            if place != _NO_PARTITION and future.exception() is None:
                self._ends[place] = future.result().offset
        if codes <= _NOBODY:
            self._presence.lost(time.monotonic())
        # A broker's refusal is an answer as well.
        is_answer = any(code >= 0 for code in codes)
        is_back = is_answer and self._presence.answered(time.monotonic(), asked_at=self._asked_at)
        if is_back or codes & _STALE:
            # librdkafka's asking for ends never looks again for who leads a partition, and since when.
            self._admin = None
        return is_back


def _code(error: BaseException | None) -> int:
    if isinstance(error, KafkaException):
        return int(error.args[0].code())
    return KafkaError.NO_ERROR if error is None else KafkaError._FAIL
