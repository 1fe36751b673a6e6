"""At least once with klamm.client: work, then commit.

A consumer that dies in between has done a record and not said so. The next one does it again: it is repeated. Nothing
is lost.
"""

import asyncio

from examples.delivery.job import Job, Point, Progress, transform
from examples.delivery.with_klamm.client import consumer_settings, offset_after, records, value_of
from klamm.client import Consumer, Producer, ProducerSettings


async def run(job: Job) -> None:
    progress = Progress()
    async with (
        Consumer(job.bootstrap, consumer_settings(job)) as consumer,
        Producer(job.bootstrap, ProducerSettings(linger_ms=0)) as producer,
    ):
        async for record in records(consumer, job, progress):
            # Sent is not enough: the commit below must not overtake the record.
            await producer.send_and_wait(job.target, transform(value_of(record)))
            progress.reach(Point.PRODUCED)
            await consumer.commit(offset_after(record))


if __name__ == "__main__":
    asyncio.run(run(Job.from_command_line()))
