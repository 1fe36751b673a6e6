"""Rows into a topic: exactly once by marked transactions, or at least once by Spark's own sink."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from klamm.pipeline.client import for_librdkafka, for_spark, silent
from klamm.pipeline.place import Place
from klamm.pipeline.sinks.ends import in_parts
from klamm.pipeline.sinks.markers import Markers, MarkerShelf
from klamm.pipeline.sinks.parts import REPORT, PartWriter, close_kept
from klamm.pipeline.sinks.records import as_records
from klamm.pipeline.sinks.transaction import failure, lost_marker_sentence
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed, raised_in_task
from klamm.pipeline.spec.model.sinks import LostMarker, TopicSink

_ANSWER_SECONDS = 15.0
_CREATION_SECONDS = 2.0
_PAUSE_SECONDS = 0.1
# Java's names of what librdkafka calls otherwise.
_RENAMED = {"max.request.size": "message.max.bytes", "delivery.timeout.ms": "message.timeout.ms"}


@dataclass(slots=True)
class ExactlyOnceTopic:
    """The tasks write, each its part in a transaction with a marker; see klamm.pipeline.sinks.parts.

    `takes_records`: the rows are records already, with the columns key, value and headers.
    """

    sink: TopicSink
    place: Place
    takes_records: bool = False
    _shelf: MarkerShelf | None = field(default=None, init=False)
    # What an earlier run left; None as soon as this one has written a batch.
    _found: Markers | None = field(default=None, init=False)

    def open(self, query_id: str) -> None:
        self._shelf = MarkerShelf(
            bootstrap=self.place.bootstrap,
            topic=self.sink.topic,
            prefix=f"{query_id}.{self.sink.label}",
            settings=producer_settings(self.sink, self.place),
        )
        check_topic(self._shelf)
        self._found = self._shelf.read(writers=self.sink.writers)

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        assert self._shelf is not None, "open() comes first"
        found, writers, may_be_first = self._found, self.sink.writers, batch_id == 0
        if found is not None:
            if found.is_written(batch_id):
                return False
            self._check_markers(found, batch_id)
            writers = found.writers_for(batch_id, wanted=writers)
            may_be_first = found.may_be_first(batch_id, writers=writers)
        lost_marker = self.sink.lost_marker
        part_writer = PartWriter(
            bootstrap=self._shelf.bootstrap,
            topic=self._shelf.topic,
            prefix=self._shelf.prefix_of(writers),
            batch_id=batch_id,
            may_be_first=may_be_first or lost_marker is LostMarker.WRITE,
            skips_lost=lost_marker is LostMarker.SKIP,
            settings=self._shelf.settings,
        )
        is_new = self._write(batch, part_writer, writers)
        # A batch that was finished with another number of writers is no reason to go on with it.
        self._found = (
            None if writers == self.sink.writers else self._shelf.read(writers=self.sink.writers)
        )
        return is_new

    def close(self) -> None:
        if self._shelf is not None:
            close_kept(self._shelf.prefix)
        self._shelf = self._found = None

    def _check_markers(self, found: Markers, batch_id: int) -> None:
        """Before a task would find it out."""
        assert self._shelf is not None
        if batch_id > 0 and found.are_lost and self.sink.lost_marker is LostMarker.FAIL:
            id = f"{self._shelf.prefix_of(self.sink.writers)}.0"
            raise MarkerLost(lost_marker_sentence(self.sink.topic, id, batch_id))

    def _write(self, batch: DataFrame, part_writer: PartWriter, writers: int) -> bool:
        records = batch if self.takes_records else as_records(batch, self.sink)
        try:
            reports = in_parts(records, writers).mapInArrow(part_writer, REPORT).collect()
        except PySparkException as error:
            if raised := raised_in_task(error):
                raise raised from None
            raise
        # Every part has reported, also one without records: its marker is renewed all the same.
        return any(report["is_new"] for report in reports)


@dataclass(slots=True)
class AtLeastOnceTopic:
    """Spark's own sink: the tasks write, and a batch that is repeated is written again."""

    sink: TopicSink
    place: Place

    def open(self, query_id: str) -> None:
        """It keeps nothing."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        options = spark_options(self.sink, self.place)
        as_records(batch, self.sink).write.format("kafka").options(**options).save()
        return True

    def close(self) -> None:
        """It keeps nothing."""


def spark_options(sink: TopicSink, place: Place) -> dict[str, str]:
    """What Spark's own sink is told, for batches and for continuous processing."""
    producer = {f"kafka.{name}": value for name, value in sink.options}
    address = {"kafka.bootstrap.servers": place.bootstrap, "topic": sink.topic}
    return {**for_spark(place.client), **producer, **address}


def producer_settings(sink: TopicSink, place: Place) -> dict[str, str]:
    """What librdkafka is told: the connection's settings, and those of the producer by their names in Kafka."""
    options = {_RENAMED.get(name, name): value for name, value in sink.options}
    if memory := options.pop("buffer.memory", None):
        options["queue.buffering.max.kbytes"] = str(max(1, int(memory) // 1024))
    return {**for_librdkafka(place.client), **options}


def check_topic(shelf: MarkerShelf) -> None:
    """That the topic is there. Where the cluster makes topics by itself, the question makes it, a moment later."""
    deadline = time.monotonic() + _CREATION_SECONDS
    try:
        producer = Producer({**shelf.settings, "bootstrap.servers": shelf.bootstrap, **silent()})
        while error := _topic_error(producer, shelf.topic):
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_SECONDS)
    except KafkaException as raised:
        raise failure(shelf.topic, raised.args[0]) from raised
    if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise SinkFailed(
            f"topic {shelf.topic} does not exist; create it: klamm topic create {shelf.topic}"
        )
    if error is not None:
        raise failure(shelf.topic, error)


def _topic_error(producer: Producer, topic: str) -> KafkaError | None:
    found: KafkaError | None = producer.list_topics(topic, _ANSWER_SECONDS).topics[topic].error
    return found
