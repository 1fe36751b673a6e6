"""What becomes of a partition when a broker leaves or comes back: its ISR, its leader, its eligible leaders.

Pure functions from a partition to the record that changes it, or None where nothing changes. The eligible
leader replicas (ELR) of KIP-966 are brokers that left the ISR while it was below min.insync.replicas: nothing
was committed without them since, so they may lead again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from klamm.base.ids import Uuid
from klamm.metadata.image import NO_LEADER, PartitionImage
from klamm.metadata.records.topics import PartitionChangeRecord

_RECOVERING = 1


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for one topic: whether there is an ELR, and how many replicas make a commit safe."""

    is_elr_enabled: bool
    min_isr: int


def without_broker(
    topic_id: Uuid,
    index: int,
    partition: PartitionImage,
    broker_id: int,
    *,
    rules: Rules,
    is_active: Callable[[int], bool],
) -> PartitionChangeRecord | None:
    """The broker is gone: it leaves the ISR, and another member leads in its stead."""
    if broker_id not in partition.isr and partition.leader != broker_id:
        return None
    isr = tuple(each for each in partition.isr if each != broker_id)
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=index)
    if partition.leader == broker_id:
        leaders = (each for each in partition.replicas if each in isr and is_active(each))
        change.leader = next(leaders, NO_LEADER)
    if rules.is_elr_enabled:
        _keep_eligible(partition, isr, change, rules)
    # Without an ELR the last member stays in the ISR: it alone is known to have everything.
    if isr or rules.is_elr_enabled:
        change.isr = list(isr)
    return change


def _keep_eligible(
    partition: PartitionImage, isr: tuple[int, ...], change: PartitionChangeRecord, rules: Rules
) -> None:
    enough = len(isr) >= min(rules.min_isr, len(partition.replicas))
    known = () if enough else (*partition.elr, *partition.isr)
    eligible = sorted({each for each in known if each not in isr})
    if tuple(eligible) != partition.elr:
        change.eligible_leader_replicas = eligible
    if not isr and partition.last_known_elr != (partition.leader,):
        change.last_known_elr = [partition.leader]


def with_broker(
    topic_id: Uuid, index: int, partition: PartitionImage, broker_id: int
) -> PartitionChangeRecord | None:
    """The broker is back. A partition without a leader takes it if it may lead: as the rest of the ISR, as
    an eligible leader, or, when neither is left, as the one that led last."""
    if partition.leader != NO_LEADER:
        return None
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=index, leader=broker_id)
    if broker_id not in partition.isr:
        if partition.isr:
            return None
        change.isr = [broker_id]
        if broker_id in partition.elr:
            change.eligible_leader_replicas = [x for x in partition.elr if x != broker_id]
        elif not partition.elr and partition.last_known_elr == (broker_id,):
            if len(partition.replicas) > 1:
                # Another replica may have more; a lone one has all there is.
                change.leader_recovery_state = _RECOVERING
        else:
            return None
    if partition.last_known_elr:
        change.last_known_elr = []
    return change


def not_eligible(
    topic_id: Uuid, index: int, partition: PartitionImage, broker_id: int
) -> PartitionChangeRecord | None:
    """The broker died without flushing: what it has may be less than what was committed."""
    if broker_id not in partition.elr:
        return None
    left = [each for each in partition.elr if each != broker_id]
    return PartitionChangeRecord(
        topic_id=topic_id, partition_id=index, eligible_leader_replicas=left
    )
