"""What becomes of a partition when a broker leaves or comes back, or when somebody asks for another leader: its ISR,
its leader, its eligible leaders.

Functions from a partition to the record that changes it, or None where nothing changes; at the end the answer to
ElectLeaders. The eligible leader replicas (ELR) of KIP-966 are brokers that left the ISR while it was below min.insync.replicas: nothing
was committed without them since, so they may lead again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.controller.decision import Context, Decision
from klamm.metadata.image import NO_LEADER, ClusterImage, PartitionImage
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_RECOVERING = 1
_PREFERRED = 0
_UNCLEAN = 1


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
    has_crashed: bool = False,
) -> PartitionChangeRecord | None:
    """The broker is gone: it leaves the ISR, and another member leads in its stead, or an eligible one if none is left.

    has_crashed: it is known to have stopped without flushing, so it may have lost what was committed.
    """
    is_eligible = broker_id in partition.elr and has_crashed
    if broker_id not in partition.isr and partition.leader != broker_id and not is_eligible:
        return None
    isr = tuple(each for each in partition.isr if each != broker_id)
    elr: tuple[int, ...] = ()
    if rules.is_elr_enabled:
        elr = _still_eligible(partition, isr, broker_id if has_crashed else None, rules)
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=index)
    if partition.leader == broker_id:
        able = [each for each in partition.replicas if is_active(each)]
        from_isr = [each for each in able if each in isr]
        from_elr = [each for each in able if each in elr]
        change.leader = next(iter([*from_isr, *from_elr]), NO_LEADER)
        if change.leader != NO_LEADER and not from_isr:
            isr, elr = (change.leader,), tuple(each for each in elr if each != change.leader)
    if rules.is_elr_enabled:
        if elr != partition.elr:
            change.eligible_leader_replicas = list(elr)
        if not isr and partition.last_known_elr != (partition.leader,):
            change.last_known_elr = [partition.leader]
    # Without an ELR the last member stays in the ISR: it alone is known to have everything.
    if isr != partition.isr and (isr or rules.is_elr_enabled):
        change.isr = list(isr)
    return change


def _still_eligible(
    partition: PartitionImage, isr: tuple[int, ...], crashed: int | None, rules: Rules
) -> tuple[int, ...]:
    """Who left the ISR while it was, or is now, below the minimum: nothing was committed without them."""
    if len(isr) >= min(rules.min_isr, len(partition.replicas)):
        return ()
    known = {*partition.elr, *partition.isr} - {*isr, crashed}
    return tuple(sorted(each for each in known if each is not None))


def with_broker(
    topic_id: Uuid, index: int, partition: PartitionImage, broker_id: int
) -> PartitionChangeRecord | None:
    """The broker is back. A partition without a leader takes it if it may lead: as the rest of the ISR, as
    an eligible leader, or, when neither is left, as the one that led last."""
    if partition.leader != NO_LEADER:
        return None
    is_last_known = _has_nobody_eligible(partition) and partition.last_known_elr == (broker_id,)
    if _is_eligible(partition, broker_id) or is_last_known:
        return _led_by(topic_id, index, partition, broker_id)
    return None


def preferred(
    topic_id: Uuid, index: int, partition: PartitionImage, *, is_active: Callable[[int], bool]
) -> PartitionChangeRecord | None:
    """The first replica leads if it can. If it cannot, who leads now goes on, else anybody eligible takes over."""
    first, *rest = partition.replicas
    candidates = (first, partition.leader, *rest)
    return _elected(topic_id, index, partition, candidates, is_active)


def unclean(
    topic_id: Uuid, index: int, partition: PartitionImage, *, is_active: Callable[[int], bool]
) -> PartitionChangeRecord | None:
    """Anybody who lives leads a partition that has no leader, even if records are lost by that; one that
    loses none is taken first."""
    candidates = (partition.leader, *partition.replicas)
    if change := _elected(topic_id, index, partition, candidates, is_active):
        return change
    living = (each for each in partition.replicas if is_active(each))
    if (leader := next(living, None)) is None or leader == partition.leader:
        return None
    return _led_by(topic_id, index, partition, leader)


def _elected(
    topic_id: Uuid,
    index: int,
    partition: PartitionImage,
    candidates: Iterable[int],
    is_active: Callable[[int], bool],
) -> PartitionChangeRecord | None:
    """The first candidate that is eligible; without any, the one that led last."""
    able = (each for each in candidates if _is_eligible(partition, each) and is_active(each))
    leader = next(able, None)
    if leader is None and _has_nobody_eligible(partition) and len(partition.last_known_elr) == 1:
        last = partition.last_known_elr[0]
        leader = last if is_active(last) else None
    if leader is None or leader == partition.leader:
        return None
    return _led_by(topic_id, index, partition, leader)


def _is_eligible(partition: PartitionImage, broker_id: int) -> bool:
    """It has everything that was committed."""
    return broker_id in (partition.isr or partition.elr)


def _has_nobody_eligible(partition: PartitionImage) -> bool:
    return not partition.isr and not partition.elr


def _led_by(
    topic_id: Uuid, index: int, partition: PartitionImage, leader: int
) -> PartitionChangeRecord:
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=index, leader=leader)
    if leader not in partition.isr:
        change.isr = [leader]
        if leader in partition.elr:
            change.eligible_leader_replicas = [x for x in partition.elr if x != leader]
        # Another replica may have more; a lone one has all there is.
        if not _is_eligible(partition, leader) and len(partition.replicas) > 1:
            change.leader_recovery_state = _RECOVERING
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


# ElectLeaders


def elect(context: Context, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
    """Each partition stands for itself. Without a list all partitions are meant, and those that are led as they
    should be are not spoken of."""
    image = context.image
    kind = request.election_type
    if request.topic_partitions != []:
        _check_kind(kind)
    results: list[ReplicaElectionResult] = []
    records: list[object] = []
    for topic, partitions in _asked(image, request):
        result = ReplicaElectionResult(topic=topic)
        results.append(result)
        for index in partitions:
            answer = PartitionResult(partition_id=index, error_message=None)
            try:
                records.append(_elect(image, topic, index, kind))
            except ApiError as error:
                answer.error_code, answer.error_message = error.code, error.message
            result.partition_result.append(answer)
    return Decision(ElectLeadersResponse(replica_election_results=results), records)


def _check_kind(kind: int) -> None:
    if kind not in (_PREFERRED, _UNCLEAN):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {kind}")


def _asked(
    image: ClusterImage, request: ElectLeadersRequest
) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topic_partitions is not None:
        for asked in request.topic_partitions:
            yield asked.topic, asked.partitions
        return
    kind = request.election_type
    for topic in image.topics_by_name.values():
        yield (
            topic.name,
            [n for n, each in enumerate(topic.partitions) if not _is_led_as_wanted(each, kind)],
        )


def _elect(image: ClusterImage, name: str, index: int, kind: int) -> PartitionChangeRecord:
    if (topic := image.topics_by_name.get(name)) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if (partition := topic.partition(index)) is None:
        text = f"No such partition as {name}-{index}"
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if _is_led_as_wanted(partition, kind):
        raise ApiError(ErrorCode.ELECTION_NOT_NEEDED)

    def is_active(broker_id: int) -> bool:
        broker = image.brokers.get(broker_id)
        return broker is not None and broker.is_active

    choose = preferred if kind == _PREFERRED else unclean
    if change := choose(topic.topic_id, index, partition, is_active=is_active):
        return change
    raise ApiError(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if kind == _PREFERRED
        else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )


def _is_led_as_wanted(partition: PartitionImage, kind: int) -> bool:
    if kind == _PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER
