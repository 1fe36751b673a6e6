"""At least once with confluent-kafka: work, then commit.

A consumer that dies in between has done a record and not said so. The next one does it again: it is repeated. Nothing
is lost.
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
        send(producer, job.target, transform(value_of(record)))
        producer.flush()  # The commit below must not overtake the record.
        progress.reach(Point.PRODUCED)
        consumer.commit(offsets=[offset_after(record)], asynchronous=False)


if __name__ == "__main__":
    run(Job.from_command_line())
