"""At most once with confluent-kafka: commit, then work.

A consumer that dies in between has promised a record and not done it. Nobody will: it is lost. Nothing is done twice.
"""

from confluent_kafka import Consumer, Producer

from examples.delivery.job import Job, Point, Progress, transform
from examples.delivery.with_confluent.client import (
    consumer_settings,
    offset_after,
    producer_settings,
    records,
    send,
    value_of,
)


def run(job: Job) -> None:
    consumer = Consumer(consumer_settings(job))
    producer = Producer(producer_settings(job))
    progress = Progress()
    for record in records(consumer, job, progress):
        consumer.commit(offsets=[offset_after(record)], asynchronous=False)
        progress.reach(Point.COMMITTED)
        send(producer, job.target, transform(value_of(record)))
        producer.flush()


if __name__ == "__main__":
    run(Job.from_command_line())
