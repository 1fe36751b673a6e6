"""New partitions: who holds them, by hand or by placement, and the records that say so.

Also what a manual assignment must look like; CreateTopics and CreatePartitions share these rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from klamm.base.chance import Chance
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.controller.partitions.placement import place
from klamm.metadata.image import BrokerImage, ClusterImage
from klamm.metadata.records.topics import PartitionRecord

# The broker has several directories, or none that is known: it will say itself where the replica went.
UNASSIGNED_DIRECTORY = ZERO_UUID


def new_partition(
    image: ClusterImage, topic_id: Uuid, index: int, replicas: Sequence[int]
) -> PartitionRecord | None:
    """The record of a fresh partition, or None when no replica is alive to lead it."""
    brokers = image.brokers
    isr = [each for each in replicas if brokers[each].is_active]
    if not isr:
        return None
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[directory_for(brokers[each]) for each in replicas],
    )


def placed_partitions(
    image: ClusterImage,
    topic_id: Uuid,
    *,
    first: int,
    count: int,
    replication_factor: int,
    chance: Chance,
) -> list[PartitionRecord]:
    """Partitions first, first + 1 ... on brokers of our choice."""
    chosen = place(
        image.brokers, partitions=count, replication_factor=replication_factor, chance=chance
    )
    records = []
    for index, replicas in enumerate(chosen, first):
        record = new_partition(image, topic_id, index, replicas)
        if record is None:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {replication_factor} time(s): "
                "All brokers are currently fenced or in controlled shutdown.",
            )
        records.append(record)
    return records


def assigned_partition(
    image: ClusterImage,
    topic_id: Uuid,
    index: int,
    replicas: Sequence[int],
    *,
    replication_factor: int | None,
) -> PartitionRecord:
    """A partition on the brokers that the client named."""
    check_assignment(image, replicas, replication_factor)
    record = new_partition(image, topic_id, index, replicas)
    if record is None:
        raise _bad_assignment(
            "All brokers specified in the manual partition assignment for "
            f"partition {index} are fenced or in controlled shutdown."
        )
    return record


def check_assignment(
    image: ClusterImage, replicas: Sequence[int], replication_factor: int | None
) -> None:
    what = "The manual partition assignment includes"
    if not replicas:
        raise _bad_assignment(f"{what} an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(replicas):
        if broker_id not in image.brokers:
            raise _bad_assignment(f"{what} broker {broker_id}, but no such broker is registered.")
        if broker_id == previous:
            raise _bad_assignment(f"{what} the broker {broker_id} more than once.")
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _bad_assignment(
            f"{what} a partition with {len(replicas)} replica(s), but this is not consistent with "
            f"previous partitions, which have {replication_factor} replica(s)."
        )


def _bad_assignment(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)


def directory_for(broker: BrokerImage) -> Uuid:
    directories = broker.directories
    return directories[0] if len(directories) == 1 else UNASSIGNED_DIRECTORY
