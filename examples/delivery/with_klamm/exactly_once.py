"""Exactly once with klamm.client: the work and the commit in one transaction.

A consumer that dies in between leaves an open transaction. The next one has the same transactional id, and its start
aborts what was open: who reads with read_committed never sees it, and the offset is where it was.
"""

import asyncio

from examples.delivery.job import Job, Point, Progress, transform
from examples.delivery.with_klamm.client import consumer_settings, offset_after, records, value_of
from klamm.client import Consumer, Producer, ProducerSettings


async def run(job: Job) -> None:
    progress = Progress()
    writing = ProducerSettings(transactional_id=job.name, linger_ms=0)
    async with (
        # First of all: from here on an older life of this consumer can no longer write or commit.
        Producer(job.bootstrap, writing) as producer,
        Consumer(job.bootstrap, consumer_settings(job)) as consumer,
    ):
        async for record in records(consumer, job, progress):
            async with producer.transaction():  # Commits at its end; an exception aborts.
                # The commit waits for it as well; here, so that a kill finds it written.
                await producer.send_and_wait(job.target, transform(value_of(record)))
                progress.reach(Point.IN_TRANSACTION)
                await producer.send_offsets(offset_after(record), consumer.group_metadata())
                progress.reach(Point.WITH_OFFSET)
            progress.reach(Point.TRANSACTION_DONE)


if __name__ == "__main__":
    asyncio.run(run(Job.from_command_line()))
