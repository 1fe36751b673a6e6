"""What the three consumers with klamm.client have in common.

Every error ends the process. Whoever starts it again gets the semantics that were promised: a consumer that may be
killed at any time needs no other way to fail.
"""

from collections.abc import AsyncIterator

from examples.delivery.job import END, Job, Progress
from klamm.base.ids import TopicPartition
from klamm.client import CommittedOffset, Consumer, ConsumerRecord, ConsumerSettings
from klamm.client.serializers import Bytes

BytesConsumer = Consumer[Bytes, Bytes]
BytesRecord = ConsumerRecord[Bytes, Bytes]


def consumer_settings(job: Job) -> ConsumerSettings:
    return ConsumerSettings(
        group_id=job.name,
        # A static member: its next life takes its place at once, instead of after the session timeout.
        group_instance_id=job.name,
        auto_offset_reset="earliest",
        # When to commit is what the examples are about.
        auto_commit=False,
        read_committed=True,
    )


async def records(
    consumer: BytesConsumer, job: Job, progress: Progress
) -> AsyncIterator[BytesRecord]:
    """One at a time, until the end of the job."""
    await consumer.subscribe([job.source])
    async for record in consumer:
        if record.value == END:
            break
        progress.begin()
        yield record


def value_of(record: BytesRecord) -> bytes:
    return record.value or b""


def offset_after(record: BytesRecord) -> dict[TopicPartition, CommittedOffset]:
    """What is committed is where to go on."""
    return {record.topic_partition: CommittedOffset(record.offset + 1)}
