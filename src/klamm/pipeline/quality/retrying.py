"""Sends dead letters again to the topics they came from, each once. No Spark.

A chunk of letters is one transaction: the records, and in it the position in the dead-letter topic, committed for a group
of the pipeline's. What was sent is known by positions alone: letters below the group's offset are done, and where only
the letters of one check were sent, those of it below the offset of that check's own group. So any mix of retries with
and without a check sends each letter once. All retries of a pipeline share one transactional id: a second one at the same
time ends the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from klamm.pipeline.client import connection
from klamm.pipeline.place import Place
from klamm.pipeline.sources.cluster import check_topics, partitions_by_topic
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable

CHUNK = 1000
TIMEOUT_SECONDS = 60.0
_OURS = "klamm."
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}

# To librdkafka: choose one by the key.
_ANY_PARTITION = -1

Headers: TypeAlias = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which letters of which pipeline. Times are milliseconds, of when the letter was written."""

    pipeline: str
    topic: str
    check: str | None = None
    # Letters before it are passed over for good; the first one after `until` ends the retry.
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int | None = None


@dataclass(slots=True)
class Retried:
    """What was sent, or with a dry run would be: by the check that they had not passed, and by topic."""

    sent: int = 0
    by_check: Counter[str] = field(default_factory=Counter)
    by_topic: Counter[str] = field(default_factory=Counter)
    # Letters that came from no topic (of files and databases): there is nowhere to send them.
    without_topic: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter, read back."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    facts: dict[str, str]
    # The record's own: all but ours.
    headers: Headers

    @property
    def check(self) -> str:
        return self.facts.get("klamm.check", "")

    @property
    def origin(self) -> str | None:
        return self.facts.get("klamm.topic")


def group_of(pipeline: str, check: str | None = None) -> str:
    """The group whose offsets say which letters were sent again."""
    return f"pipeline.{pipeline}.dead-letters" + (f".{check}" if check else "")


def retry_dead_letters(
    place: Place,
    wanted: Wanted,
    *,
    execute: bool = False,
    committed: Callable[[int], None] | None = None,
) -> Retried:
    """Sends what is in the dead-letter topic now. Without `execute` it only counts.

    `committed` is told how many are sent, after each transaction. Raises SourceFailed, in one sentence.
    """
    there = partitions_by_topic(place)
    check_topics([wanted.topic], there, place.bootstrap)
    retry = _Retry(place, wanted, there)
    try:
        return retry.run(execute=execute, committed=committed or (lambda sent: None))
    except KafkaException as error:
        raise _told(error, wanted, place) from error
    finally:
        retry.close()


class _Retry:
    def __init__(self, place: Place, wanted: Wanted, there: dict[str, list[int]]) -> None:
        self._place = place
        self._wanted = wanted
        self._there = there
        self._partitions = there[wanted.topic]
        self._result = Retried()
        self._done_by_check: dict[str, dict[int, int]] = {}
        self._reader = self._consumer(group_of(wanted.pipeline, wanted.check))

    def run(self, *, execute: bool, committed: Callable[[int], None]) -> Retried:
        # First the producer: it ends what an older retry left open, and only then the positions are certain.
        producer = self._producer() if execute else None
        for letters, positions in self._chunks():
            if producer is not None:
                self._send(producer, letters, positions)
                committed(len(letters))
            for letter in letters:
                self._result.sent += 1
                self._result.by_check[letter.check] += 1
                self._result.by_topic[letter.origin or ""] += 1
        return self._result

    def close(self) -> None:
        self._reader.close()

    # --- which letters ---

    def _chunks(self) -> Iterator[tuple[list[Letter], dict[int, int]]]:
        """Letters to send, with the positions after them; at the end perhaps positions alone."""
        chunk: list[Letter] = []
        positions: dict[int, int] = {}
        left = self._wanted.limit
        for letter in self._letters():
            if self._is_wanted(letter):
                if left == 0:
                    break
                chunk.append(letter)
                left = None if left is None else left - 1
            positions[letter.partition] = letter.offset + 1
            if len(chunk) == CHUNK:
                yield chunk, positions
                chunk, positions = [], {}
        if positions:
            yield chunk, positions

    def _letters(self) -> Iterator[Letter]:
        """All that are there now and not done, partition by partition."""
        wanted = self._wanted
        for partition in self._partitions:
            position = TopicPartition(wanted.topic, partition)
            low, end = self._reader.get_watermark_offsets(position, TIMEOUT_SECONDS)
            start = max(low, self._done(None)[partition], self._done(wanted.check)[partition])
            if start >= end:
                continue
            self._reader.assign([TopicPartition(wanted.topic, partition, start)])
            for letter in self._until_end():
                if wanted.until_ms is not None and letter.timestamp_ms > wanted.until_ms:
                    break
                yield letter

    def _until_end(self) -> Iterator[Letter]:
        while True:
            message = self._reader.poll(TIMEOUT_SECONDS)
            if message is None:
                raise SourceUnreachable(
                    f"the cluster at {self._place.bootstrap} gave no more of {self._wanted.topic}; run it again to go on"
                )
            error = message.error()
            if error is None:
                yield _read(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise KafkaException(error)

    def _is_wanted(self, letter: Letter) -> bool:
        wanted = self._wanted
        # One dead-letter topic may serve several pipelines; each sends its own.
        if letter.facts.get("klamm.pipeline") != wanted.pipeline:
            return False
        if wanted.check is not None and letter.check != wanted.check:
            return False
        if wanted.since_ms is not None and letter.timestamp_ms < wanted.since_ms:
            return False
        if letter.offset < self._done(letter.check)[letter.partition]:
            return False
        if letter.origin is None:
            self._result.without_topic += 1
            return False
        return True

    def _done(self, check: str | None) -> dict[int, int]:
        """By partition, the offset below which the letters of this check, or all, were sent or passed over."""
        name = check or ""
        if name not in self._done_by_check:
            group = self._consumer(group_of(self._wanted.pipeline, check))
            try:
                asked = [TopicPartition(self._wanted.topic, number) for number in self._partitions]
                found = group.committed(asked, TIMEOUT_SECONDS)
            finally:
                group.close()
            self._done_by_check[name] = {each.partition: max(0, each.offset) for each in found}
        return self._done_by_check[name]

    # --- sending ---

    def _send(self, producer: Producer, letters: list[Letter], positions: dict[int, int]) -> None:
        check_topics({e.origin for e in letters if e.origin}, self._there, self._place.bootstrap)
        producer.begin_transaction()
        for letter in letters:
            while not self._took(producer, letter):
                producer.poll(0.1)
        topic = self._wanted.topic
        ends = [TopicPartition(topic, number, end) for number, end in positions.items()]
        group = self._reader.consumer_group_metadata()
        producer.send_offsets_to_transaction(ends, group, TIMEOUT_SECONDS)
        producer.commit_transaction(TIMEOUT_SECONDS)

    def _took(self, producer: Producer, letter: Letter) -> bool:
        topic = letter.origin
        assert topic is not None
        number = int(letter.facts.get("klamm.partition", "-1"))
        # Where it was, so that it stands with the other records of its key, however its producer chose partitions.
        partition = number if number in self._there[topic] else _ANY_PARTITION
        try:
            producer.produce(
                topic,
                letter.value,
                letter.key,
                partition=partition,
                timestamp=int(letter.facts.get("klamm.timestamp", 0)),
                headers=letter.headers,
            )
        except BufferError:
            return False
        return True

    # --- clients ---

    def _producer(self) -> Producer:
        settings = {"transactional.id": group_of(self._wanted.pipeline), "linger.ms": 20}
        producer = Producer(
            {**connection(self._place), **settings, "partitioner": "murmur2_random"}
        )
        producer.init_transactions(TIMEOUT_SECONDS)
        return producer

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                **connection(self._place),
                "group.id": group,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )


def _read(message: Message) -> Letter:
    headers = message.headers() or []
    assert isinstance(headers, list)
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return Letter(
        partition=partition,
        offset=offset,
        timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        # The last of a name counts: a record that was a dead letter before has the old ones, too.
        facts={name: _text(value) for name, value in headers if name.startswith(_OURS)},
        headers=[(name, value) for name, value in headers if not name.startswith(_OURS)],
    )


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def _told(error: KafkaException, wanted: Wanted, place: Place) -> SourceFailed:
    cause = error.args[0]
    if cause.code() in _FENCED:
        return SourceFailed(
            f"another retry of the dead letters of {wanted.pipeline} began: this one ended, and none was sent twice"
        )
    return SourceUnreachable(
        f"the cluster at {place.bootstrap} did not take the dead letters ({cause.str()}); run it again to go on"
    )
