"""A leader with followers, for tests of what it knows of them."""

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.metadata.image import PartitionImage
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.replication.partition import Partition
from klamm.testing.disk import MemoryDisk

WALL = 1_750_000_000_000
TOPIC_ID = Uuid(bytes(range(16)))
LAG_MS = 30_000
US, OTHER, THIRD = 1, 2, 3
# The epochs under which brokers are registered and active.
EPOCHS = {US: 10, OTHER: 20, THIRD: 30}


def a_partition(*, high_watermark: int = 0, **settings: object) -> Partition:
    wanted = TopicSettings(**settings)  # type: ignore[arg-type]
    log = Log.open(MemoryDisk(), "/data/t-0", wanted, now=WALL, clean=True, topic_id=TOPIC_ID)
    return Partition(TopicPartition("t", 0), TOPIC_ID, log, wanted, high_watermark=high_watermark)


def a_state(
    *,
    leader: int = US,
    epoch: int = 0,
    partition_epoch: int | None = None,
    isr: tuple[int, ...] = (US, OTHER, THIRD),
    replicas: tuple[int, ...] = (US, OTHER, THIRD),
    recovery: int = 0,
) -> PartitionImage:
    return PartitionImage(
        replicas=replicas,
        isr=isr,
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch if partition_epoch is None else partition_epoch,
        leader_recovery_state=recovery,
    )


def lead(partition: Partition, state: PartitionImage, now: int = 0) -> bool:
    return partition.make_leader(
        state, now=Now(now, WALL + now), broker_epochs=EPOCHS.get, lag_ms=LAG_MS
    )


def a_leader(now: int = 0, *, min_isr: int = 1, **state: object) -> Partition:
    partition = a_partition(min_insync_replicas=min_isr)
    lead(partition, a_state(**state), now)  # type: ignore[arg-type]
    return partition


def append(partition: Partition, count: int = 1, *, acks: int = -1, now: int = 0) -> int:
    batch = build_batch([Record(timestamp=WALL, value=b"v")] * count)
    return partition.append(batch, acks=acks, now=WALL + now).base_offset


def fetch(partition: Partition, replica: int, offset: int, now: int = 0, start: int = 0) -> bool:
    return partition.fetched_by(replica, EPOCHS[replica], offset, start, now)


def code_of(refused: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return refused.value.code


def a_batch_of(sequence: int) -> bytearray:
    return build_batch(
        [Record(timestamp=WALL, value=b"v")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=sequence,
    )
