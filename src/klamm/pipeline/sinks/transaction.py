"""One transaction per batch, with a marker inside it that says which batch this was.

The marker is an offset that the transaction commits for a group named like the transactional id. It becomes visible
exactly if the records do; whoever comes next reads it and knows what is in the log. Opening fences every older writer
of the same id and ends what it left open, so the marker that is read then cannot change under the reader.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from klamm.pipeline.client import silent
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed, SinkUnreachable, Superseded

Headers: TypeAlias = "list[tuple[str, str | bytes | None]]"
# Some records as columns: keys, values and, if any of them has some, headers.
Columns: TypeAlias = (
    "tuple[Sequence[bytes | None], Sequence[bytes | None], Sequence[Headers | None] | None]"
)
_Result = TypeVar("_Result")

TIMEOUT_SECONDS = 60.0
_GIVE_UP_SECONDS = 10.0
# What a broker allows by default, so that a slow part is not cut off; an abandoned transaction is ended by the next run.
_LONG_MS, _SHORT_MS = 900_000, 60_000
_FULL_QUEUE_SECONDS = 0.005
_PAUSE_SECONDS = 0.1
# The group's coordinator was just elected or has still to read its log. The client hands this on as it is.
_COORDINATOR_MOVES = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
# Codes that say only that something happened before.
_UNTOLD = {KafkaError._FATAL, KafkaError._STATE}
# What no second try changes: rights, and what the topic does not take.
_FOR_GOOD = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.INVALID_RECORD,
    KafkaError._INVALID_ARG,
}
_MARKER_PARTITION = 0

_PRODUCER = {
    # The default gives up all known brokers when none of them answers. Then librdkafka (2.16) waits for ever in
    # send_offsets_to_transaction for the one that it remembers as the group's coordinator.
    "metadata.recovery.strategy": "none",
    "linger.ms": 20,
    "batch.num.messages": 50_000,
    # What waits to be sent is bounded, whatever comes; the largest record must fit into it.
    "queue.buffering.max.kbytes": 128 * 1024,
    "queue.buffering.max.messages": 200_000,
    # The broker decides what is too large.
    "message.max.bytes": 100 * 1024 * 1024,
    # The partition of a key is the one that Java's producer would choose.
    "partitioner": "murmur2_random",
    # A record that fails makes the commit fail: reports of the others would only cost time.
    "delivery.report.only.error": True,
}


class MarkedTransactions:
    """Writes batches to one topic under one transactional id, each once. `settings` are librdkafka's."""

    def __init__(
        self, *, bootstrap: str, topic: str, id: str, settings: Mapping[str, str] | None = None
    ) -> None:
        self._settings = dict(settings or {})
        self._topic = topic
        self._id = id
        self._marker: int | None = None
        self._bootstrap = bootstrap
        self._is_begun = False
        self._producer: Producer | None = None
        # It joins nothing: it reads the marker, and its metadata is how the transaction names the group.
        self._group: Consumer | None = None

    def open(self) -> int | None:
        """Takes the id over and gives the last batch in the log, or None when it never saw one."""
        self._marker = self._attempt(self._take_over)
        return self._marker

    def is_written(self, batch_id: int) -> bool:
        return self._marker is not None and self._marker >= batch_id

    def has_lost_marker(self, batch_id: int) -> bool:
        """Every batch leaves a marker, so only the first one of a checkpoint may find none."""
        return self._marker is None and batch_id > 0

    def check_marker(self, batch_id: int) -> None:
        if self.has_lost_marker(batch_id):
            raise MarkerLost(lost_marker_sentence(self._topic, self._id, batch_id))

    def begin(self, batch_id: int) -> None:
        """Begins the batch with its marker. Superseded here means that no record was asked for yet."""
        self._is_begun = True
        self._attempt(lambda: self._begin(batch_id))

    def finish(self, batch_id: int, records: Iterable[Columns]) -> None:
        """All records and the marker, or nothing; unless the answer to the commit was lost: the next open() knows."""
        self._attempt(lambda: self._finish(records))
        self._marker, self._is_begun = batch_id, False

    def write(self, batch_id: int, records: Iterable[Columns]) -> None:
        self.begin(batch_id)
        self.finish(batch_id, records)

    def close(self) -> None:
        """What was not committed must not count, and must not keep readers waiting until it times out."""
        if self._producer is not None and self._is_begun:
            with suppress(KafkaException):
                self._producer.abort_transaction(_GIVE_UP_SECONDS)
        if self._group is not None:
            self._group.close()
        self._producer = self._group = None

    def _take_over(self) -> int | None:
        self._init()
        self._group = marker_reader(self._bootstrap, self._id, self._settings)
        return read_marker(self._group, self._topic)

    def _init(self) -> None:
        try:
            self._init_with(_LONG_MS)
        except KafkaException as error:
            # The broker sets the limit. A lower one than usual is rare, and asking for it needs rights.
            if error.args[0].code() != KafkaError.INVALID_TRANSACTION_TIMEOUT:
                raise
            self._init_with(_SHORT_MS)

    def _init_with(self, timeout_ms: int) -> None:
        wanted = {"transaction.timeout.ms": timeout_ms, **_PRODUCER, **self._settings}
        address = {"bootstrap.servers": self._bootstrap, "transactional.id": self._id}
        producer = self._producer = Producer({**wanted, **address, **silent()})
        _retry(lambda: producer.init_transactions(TIMEOUT_SECONDS))

    def _begin(self, batch_id: int) -> None:
        assert self._producer is not None, "open() comes first"
        assert self._group is not None
        producer = self._producer
        producer.begin_transaction()
        marker = [_marker_at(self._topic, batch_id)]
        group = self._group.consumer_group_metadata()
        _retry(lambda: producer.send_offsets_to_transaction(marker, group, TIMEOUT_SECONDS))

    def _finish(self, records: Iterable[Columns]) -> None:
        assert self._producer is not None, "open() comes first"
        producer = self._producer
        for keys, values, headers in records:
            if headers is None:
                self._produce(zip(values, keys, strict=True))
            else:
                self._produce_with_headers(zip(values, keys, headers, strict=True))
        _retry(lambda: producer.commit_transaction(TIMEOUT_SECONDS))

    def _produce(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        # The loop that every record passes: nothing in it that need not be.
        assert self._producer is not None
        produce, topic = self._producer.produce, self._topic
        for value, key in records:
            try:
                produce(topic, value, key)
            except BufferError:
                self._produce_when_there_is_room(value, key)

    def _produce_with_headers(
        self, records: Iterable[tuple[bytes | None, bytes | None, Headers | None]]
    ) -> None:
        assert self._producer is not None
        produce, topic = self._producer.produce, self._topic
        for value, key, headers in records:
            try:
                produce(topic, value, key, headers=headers or [])
            except BufferError:
                self._produce_when_there_is_room(value, key, headers or [])

    def _produce_when_there_is_room(
        self, value: bytes | None, key: bytes | None, headers: Headers | None = None
    ) -> None:
        producer = self._producer
        assert producer is not None
        while True:
            was_empty = len(producer) == 0
            producer.poll(_FULL_QUEUE_SECONDS)
            try:
                return producer.produce(self._topic, value, key, headers=headers)
            except BufferError:
                if was_empty:
                    size = len(value or b"") + len(key or b"")
                    raise SinkFailed(
                        f"a record of {size} bytes for topic {self._topic} does not fit into the producer's queue "
                        "(queue.buffering.max.kbytes)"
                    ) from None

    def _attempt(self, step: Callable[[], _Result]) -> _Result:
        """Runs a step; what the client raises becomes a sentence, and a transaction that cannot go on is ended."""
        try:
            return step()
        except KafkaException as error:
            cause = self._give_up(error.args[0])
            if cause.code() in _FENCED:
                raise Superseded(
                    f"a newer run with the same checkpoint writes to topic {self._topic}: {cause.str()}"
                ) from error
            raise failure(self._topic, cause) from error

    def _give_up(self, cause: KafkaError) -> KafkaError:
        """Ends the transaction if there is one, and gives the error that says most."""
        producer = self._producer
        if producer is None or not (cause.txn_requires_abort() or cause.code() in _UNTOLD):
            return cause
        try:
            producer.abort_transaction(TIMEOUT_SECONDS)
        except KafkaException as error:
            # A client that ended for good says why only to those who ask it for something more.
            return error.args[0] if cause.code() in _UNTOLD else cause
        return cause


def marker_reader(
    bootstrap: str, id: str, settings: Mapping[str, str], *, waits: bool = True
) -> Consumer:
    """A client that asks for the marker of one id, and sees only what was committed.

    If it waits, it does so until the last transaction is decided: for ever, where nobody is there to end it.
    """
    level = "read_committed" if waits else "read_uncommitted"
    own = {"group.id": id, "isolation.level": level, "enable.auto.commit": False}
    return Consumer({**settings, "bootstrap.servers": bootstrap, **own, **silent()})


def read_marker(group: Consumer, topic: str) -> int | None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        error, offset = _committed(group, topic)
        if error is None:
            return offset if offset >= 0 else None
        if error.code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
            raise KafkaException(error)
        time.sleep(_PAUSE_SECONDS)


def _committed(group: Consumer, topic: str) -> tuple[KafkaError | None, int]:
    try:
        [found] = group.committed([_marker_at(topic)], TIMEOUT_SECONDS)
    except KafkaException as error:
        return error.args[0], -1
    return found.error, found.offset


def lost_marker_sentence(topic: str, id: str, batch_id: int) -> str:
    return (
        f"batch {batch_id} may or may not be in topic {topic} already: the committed offset of group {id}, which "
        "would tell, is gone (did the pipeline rest longer than offsets.retention.minutes?); look at the topic, then "
        "set lost_marker: write (perhaps twice) or skip (perhaps never) for this sink"
    )


def failure(topic: str, cause: KafkaError) -> SinkFailed:
    """What the client says, as a sentence; most of it passes when the cluster is well again."""
    kind = SinkFailed if cause.code() in _FOR_GOOD else SinkUnreachable
    return kind(f"topic {topic} could not be written: {cause.str()} ({cause.name()})")


def _marker_at(topic: str, batch_id: int | None = None) -> TopicPartition:
    if batch_id is None:
        return TopicPartition(topic, _MARKER_PARTITION)
    return TopicPartition(topic, _MARKER_PARTITION, batch_id, f"batch {batch_id}")


def _retry(step: Callable[[], object]) -> None:
    """The client says which failures are worth another try; such a step may be repeated as it is."""
    for _ in range(3):
        try:
            step()
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
    step()
