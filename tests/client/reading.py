"""What tests read with: everything of a topic."""

from klamm.base.ids import TopicPartition
from klamm.client import Consumer, ConsumerRecord, ConsumerSettings

Rows = list[ConsumerRecord[bytes | None, bytes | None]]


async def read_all(address: str, topic: str, *, read_committed: bool = False) -> Rows:
    """All records of a topic, by partition and offset, up to its end now."""
    settings = ConsumerSettings(auto_offset_reset="earliest", read_committed=read_committed)
    async with Consumer(address, settings) as consumer:
        view = await consumer.partitions_for(topic)
        partitions = [TopicPartition(topic, index) for index in view.partitions]
        ends = await consumer.end_offsets(partitions)
        consumer.assign(partitions)
        rows: Rows = []
        for partition in partitions:
            while await consumer.position(partition) < ends[partition]:
                rows += await consumer.poll(timeout_ms=500)
        return sorted(rows, key=lambda row: (row.partition, row.offset))


async def values_of(address: str, topic: str, *, read_committed: bool = False) -> list[bytes]:
    rows = await read_all(address, topic, read_committed=read_committed)
    return [row.value or b"" for row in rows]
