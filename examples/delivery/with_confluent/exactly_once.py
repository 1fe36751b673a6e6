"""Exactly once with confluent-kafka: the work and the commit in one transaction.

A consumer that dies in between leaves an open transaction. The next one has the same transactional id, and its
init_transactions aborts what was open: who reads with read_committed never sees it, and the offset is where it was.
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
    producer = Producer({**producer_settings(job), "transactional.id": job.name})
    # First of all: from here on an older life of this consumer can no longer write or commit.
    producer.init_transactions()
    consumer = Consumer(consumer_settings(job))
    progress = Progress()
    for record in records(consumer, job, progress):
        producer.begin_transaction()
        send(producer, job.target, transform(value_of(record)))
        producer.flush()  # The commit waits for it as well; here, so that a kill finds it written.
        progress.reach(Point.IN_TRANSACTION)
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([offset_after(record)], group)
        progress.reach(Point.WITH_OFFSET)
        producer.commit_transaction()
        progress.reach(Point.TRANSACTION_DONE)


if __name__ == "__main__":
    run(Job.from_command_line())
