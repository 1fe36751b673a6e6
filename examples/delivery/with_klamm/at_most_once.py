"""At most once with klamm.client: commit, then work.

A consumer that dies in between has promised a record and not done it. Nobody will: it is lost. Nothing is done twice.
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
            await consumer.commit(offset_after(record))
            progress.reach(Point.COMMITTED)
            await producer.send_and_wait(job.target, transform(value_of(record)))


if __name__ == "__main__":
    asyncio.run(run(Job.from_command_line()))
