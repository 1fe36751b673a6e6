"""Sends a run's records to their topics."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from fuzz.pipelines.drawing.case import Case
from fuzz.pipelines.drawing.records import Record, Source
from fuzz.pipelines.drawing.sinks import TopicPlan

SECONDS = 60.0


def create_topics(bootstrap: str, case: Case) -> None:
    topics = {source.topic: source.partitions for source in case.sources}
    topics |= {sink.topic: sink.partitions for sink in case.sinks if isinstance(sink, TopicPlan)}
    if case.dead_letter is not None:
        topics[case.dead_letter] = 2
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    made = admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()])
    for each in made.values():
        each.result(SECONDS)


class Feeder:
    """Knows the offset of each record that it sent and did not take back."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.offsets: dict[int, int] = {}
        self._plain = Producer(self._settings())

    def send(self, source: Source, run: int) -> None:
        producer: Producer | None = None
        for chunk in source.runs[run]:
            if chunk.transaction is None:
                self._produce(self._plain, source, chunk.records)
                continue
            if producer is None:
                id = {"transactional.id": f"{source.topic}.feed"}
                producer = Producer({**self._settings(), **id})
                producer.init_transactions(SECONDS)
            producer.begin_transaction()
            self._produce(producer, source, chunk.records)
            if chunk.transaction == "abort":
                producer.abort_transaction(SECONDS)
            else:
                producer.commit_transaction(SECONDS)

    def _settings(self) -> dict[str, str | int]:
        return {"bootstrap.servers": self._bootstrap, "linger.ms": 0, "log_level": 2}

    def _produce(self, producer: Producer, source: Source, records: Iterable[Record]) -> None:
        for record in records:
            producer.produce(
                source.topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
                on_delivery=self._noting(record),
            )
        assert producer.flush(SECONDS) == 0, "the broker does not take records"

    def _noting(self, record: Record) -> "_Noting":
        return _Noting(self.offsets, id(record))


class _Noting:
    def __init__(self, offsets: dict[int, int], record: int) -> None:
        self._offsets = offsets
        self._record = record

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offset = message.offset()
        assert offset is not None
        self._offsets[self._record] = offset
