"""How a partition changes: from what it should become to the one record that says so.

Everything that touches a partition goes through `change`: brokers that come and go, AlterPartition, elections,
reassignments, directories. In this order: a reassignment that is complete ends, the eligible leaders follow from the new ISR,
a leader is elected, and the leader epoch rises where Kafka raises it: with another leader, or when a replica is taken away.

The eligible leader replicas (ELR) of KIP-966 left the ISR while it was below min.insync.replicas: nothing was committed
without them since, so they may lead again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.metadata.effects import NO_LEADER_CHANGE
from klamm.metadata.image import NO_LEADER, PartitionImage
from klamm.metadata.records.topics import PartitionChangeRecord

RECOVERED = 0
RECOVERING = 1
# Before this level of metadata.version (3.6-IV0) brokers relied on a new leader epoch whenever the ISR shrank.
_SHRINKS_WITHOUT_EPOCH = 12

Acceptor = Callable[[PartitionImage, int], bool]
Ids = tuple[int, ...]


class Election(Enum):
    """Who is asked first, and whether records may be lost."""

    # Whoever leads goes on if it can.
    ONLINE = 0
    # The first replica takes over if it can.
    PREFERRED = 1
    # As ONLINE; when nobody is left who has everything, anybody who lives.
    UNCLEAN = 2


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for one topic: whether there is an ELR, how many replicas make a commit safe, and whether a leader that
    lacks records is better than none."""

    is_elr_enabled: bool
    min_isr: int
    is_unclean_enabled: bool = False
    bumps_epoch_on_shrink: bool = False

    @property
    def election(self) -> Election:
        return Election.UNCLEAN if self.is_unclean_enabled else Election.ONLINE


def bumps_epoch_on_shrink(metadata_version: int) -> bool:
    return metadata_version < _SHRINKS_WITHOUT_EPOCH


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who is to hold a partition, and which of them come and go; where a replica that comes is put."""

    replicas: Ids
    adding: Ids
    removing: Ids

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    def completed(self, isr: Ids) -> tuple[Assignment, Ids] | None:
        """When all who stay are in sync the move is over, and those who go leave the ISR as well."""
        left = tuple(each for each in isr if each not in self.removing)
        staying = tuple(each for each in self.replicas if each not in self.removing)
        if not left or not staying or any(each not in left for each in staying):
            return None
        return Assignment(staying, (), ()), left


def change(
    topic_id: Uuid,
    index: int,
    partition: PartitionImage,
    *,
    rules: Rules,
    is_acceptable: Acceptor,
    election: Election | None = None,
    isr: Ids | None = None,
    assignment: Assignment | None = None,
    recovery_state: int | None = None,
    crashed: int | None = None,
    directories: Mapping[int, Uuid] | None = None,
) -> PartitionChangeRecord | None:
    """The record, or None where nothing changes. What is not given stays as it is.

    crashed: a broker that is known to have stopped without flushing. directories: where replicas are from now on.
    """
    if isr is None:
        isr = partition.isr
    if assignment is None and (partition.adding or partition.removing):
        assignment = Assignment(partition.replicas, partition.adding, partition.removing)
    if assignment is not None and assignment.is_moving and (done := assignment.completed(isr)):
        assignment, isr = done
    replicas = partition.replicas if assignment is None else assignment.replicas
    elr: Ids = ()
    if rules.is_elr_enabled:
        elr = _still_eligible(partition, isr, crashed, rules)
        if replicas is not partition.replicas:
            # Who is taken away is not waited for.
            elr = tuple(each for each in elr if each in replicas)
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    kind = rules.election if election is None else election
    leader, is_unclean = _elect(partition, replicas, isr, elr, kind, rules, is_acceptable)
    if leader != partition.leader:
        record.leader = leader
        if leader in elr:
            isr, elr = (leader,), tuple(each for each in elr if each != leader)
        if is_unclean:
            isr, elr = (leader,), ()
            # Another replica may have more; a lone one has all there is.
            if len(replicas) > 1:
                recovery_state = RECOVERING
    elif any(each not in replicas for each in partition.replicas):
        # Whoever is taken away must not be heard any more.
        record.leader = partition.leader
    _say_isr(record, partition, isr, elr, rules)
    if assignment is not None or directories is not None:
        _say_assignment(record, partition, assignment, directories)
    if recovery_state is not None and recovery_state != partition.leader_recovery_state:
        record.leader_recovery_state = recovery_state
    return None if _says_nothing(record) else record


def _still_eligible(partition: PartitionImage, isr: Ids, crashed: int | None, rules: Rules) -> Ids:
    """Who left the ISR while it was, or is now, below the minimum."""
    if len(isr) >= rules.min_isr:
        return ()
    if crashed is None and isr == partition.isr:
        return partition.elr
    known = {*partition.elr, *partition.isr}
    return tuple(sorted(each for each in known if each not in isr and each != crashed))


def _elect(
    partition: PartitionImage,
    replicas: Ids,
    isr: Ids,
    elr: Ids,
    election: Election,
    rules: Rules,
    is_acceptable: Acceptor,
) -> tuple[int, bool]:
    """The leader, and whether records may be lost by it."""
    # Members of the ISR have everything that was committed; without any, so do the eligible ones.
    whole = isr or elr
    first = replicas[0] if election is Election.PREFERRED else partition.leader
    for each in (first, partition.leader, *replicas):
        if each in whole and is_acceptable(partition, each):
            return each, False
    if rules.is_elr_enabled and not whole and len(partition.last_known_elr) == 1:
        # Nobody is left who is known to have everything; the one that led last has most.
        last = partition.last_known_elr[0]
        if is_acceptable(partition, last):
            return last, True
    if election is Election.UNCLEAN:
        for each in replicas:
            if is_acceptable(partition, each):
                return each, True
    return NO_LEADER, False


def _say_isr(
    record: PartitionChangeRecord, partition: PartitionImage, isr: Ids, elr: Ids, rules: Rules
) -> None:
    if elr != partition.elr:
        record.eligible_leader_replicas = list(elr)
    # Without an ELR the last member stays in the ISR: it alone is known to have everything.
    if isr != partition.isr and (isr or rules.is_elr_enabled):
        record.isr = list(isr)
        has_shrunk = any(each not in isr for each in partition.isr)
        if rules.bumps_epoch_on_shrink and has_shrunk and record.leader == NO_LEADER_CHANGE:
            record.leader = partition.leader
    if not rules.is_elr_enabled:
        return
    leader = partition.leader if record.leader == NO_LEADER_CHANGE else record.leader
    if leader != NO_LEADER:
        if partition.last_known_elr:
            record.last_known_elr = []
    elif record.isr == [] and partition.leader not in (NO_LEADER, *partition.last_known_elr):
        record.last_known_elr = [partition.leader]


def _say_assignment(
    record: PartitionChangeRecord,
    partition: PartitionImage,
    assignment: Assignment | None,
    directories: Mapping[int, Uuid] | None,
) -> None:
    replicas = partition.replicas
    if assignment is not None:
        if assignment.adding != partition.adding:
            record.adding_replicas = list(assignment.adding)
        if assignment.removing != partition.removing:
            record.removing_replicas = list(assignment.removing)
        if assignment.replicas != replicas:
            replicas = assignment.replicas
            record.replicas = list(replicas)
    known = dict(zip(partition.replicas, partition.directories, strict=False))
    if directories:
        known |= directories
    # A broker with several directories says itself where it has put a new replica.
    wanted = [known.get(each, ZERO_UUID) for each in replicas]
    if tuple(wanted) != partition.directories:
        record.directories = wanted


def _says_nothing(record: PartitionChangeRecord) -> bool:
    return (
        record.leader == NO_LEADER_CHANGE
        and record.isr is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
        and record.replicas is None
        and record.adding_replicas is None
        and record.removing_replicas is None
        and record.leader_recovery_state < 0
        and record.directories is None
    )
