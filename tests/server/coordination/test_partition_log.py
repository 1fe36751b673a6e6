"""The log of a shard: what a new leader finds there, and when it may tell."""

from __future__ import annotations

from coordinator.counting import FRAMING, Counting
from klamm.base.clock import Now
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.coordinator.runtime import Runtime
from klamm.log.log import Log
from klamm.metadata.image import PartitionImage
from klamm.protocol.records.batch import Codec
from klamm.replication.partition import Partition
from klamm.server.coordination.partition_log import PartitionLog, Replayed
from klamm.testing.disk import MemoryDisk

US, OTHER, THIRD = 1, 2, 3
TOPIC_ID = Uuid(bytes(range(16)))
EPOCHS = {US: 10, OTHER: 20, THIRD: 30}
NOW = Now(0, 1_750_000_000_000)
TOKEN = 1


def lead(partition: Partition, epoch: int, *replicas: int) -> PartitionLog:
    state = PartitionImage(replicas, replicas, US, epoch, epoch)
    partition.make_leader(state, now=NOW, broker_epochs=EPOCHS.get)
    return PartitionLog(partition, FRAMING, Codec.NONE, lambda grown: None)


def test_a_new_leader_finds_what_lies_above_its_high_watermark_and_tells_it_when_it_is_committed() -> (
    None
):
    settings = TopicSettings()
    log = Log.open(MemoryDisk(), "/data/t-0", settings, now=NOW.wall, clean=True, topic_id=TOPIC_ID)
    name = TopicPartition("t", 0)
    before = Runtime(
        Counting(), lead(Partition(name, TOPIC_ID, log, settings), 0, US), timeout_ms=1
    )
    for _ in range(10):
        before.carry_out(before.shard.add("name", TOKEN), NOW)

    # It was a follower, and nobody has told it yet that all of this is committed.
    partition = Partition(name, TOPIC_ID, log, settings, high_watermark=0)
    writer = lead(partition, 1, US, OTHER, THIRD)
    shard = Counting()
    for step in writer.replay(1 << 20):
        if isinstance(step, Replayed):
            shard.replay(step.record, step.offset, step.producer)

    assert (partition.high_watermark, shard.counts) == (0, {"name": 10})
    runtime = Runtime(shard, writer, timeout_ms=1_000)
    assert runtime.carry_out(shard.count("name", TOKEN), NOW) == ()
    for follower in (OTHER, THIRD):
        partition.fetched_by(follower, EPOCHS[follower], 10, 0, now=1)
    assert list(runtime.committed()) == [(TOKEN, 10)]
