"""What the three consumers with confluent-kafka have in common.

Every error ends the process. Whoever starts it again gets the semantics that were promised: a consumer that may be
killed at any time needs no other way to fail.
"""

from collections.abc import Iterator

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from examples.delivery.job import END, Job, Progress


def consumer_settings(job: Job) -> dict[str, object]:
    return {
        "bootstrap.servers": job.bootstrap,
        "group.id": job.name,
        # A static member: its next life takes its place at once, instead of after the session timeout.
        "group.instance.id": job.name,
        "auto.offset.reset": "earliest",
        # When to commit is what the examples are about.
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }


def producer_settings(job: Job) -> dict[str, object]:
    # Errors only: that an earlier life's transaction has to be aborted first is none.
    return {"bootstrap.servers": job.bootstrap, "acks": "all", "linger.ms": 0, "log_level": 3}


def records(consumer: Consumer, job: Job, progress: Progress) -> Iterator[Message]:
    """One at a time, until the end of the job."""
    consumer.subscribe([job.source])
    while True:
        record = consumer.poll(1.0)
        if record is None:
            continue
        if record.error():
            raise KafkaException(record.error())
        if record.value() == END:
            break
        progress.begin()
        yield record
    consumer.close()


def value_of(record: Message) -> bytes:
    return record.value() or b""


def offset_after(record: Message) -> TopicPartition:
    """What is committed is where to go on."""
    topic, partition, offset = record.topic(), record.partition(), record.offset()
    # Only messages that stand for errors lack them.
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicPartition(topic, partition, offset + 1)


def send(producer: Producer, topic: str, value: bytes) -> None:
    producer.produce(topic, value, on_delivery=_raise_if_lost)


def _raise_if_lost(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        raise KafkaException(error)
