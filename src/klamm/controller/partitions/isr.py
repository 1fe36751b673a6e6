"""AlterPartition: a leader says who is in sync with it. The controller holds it against what it knows.

A leader speaks of a state that it has seen, by leader epoch and partition epoch: one that is out of date is refused, and
hears of the newer state by its metadata. Nobody who is fenced, about to stop, or another incarnation than the one that has
fetched gets into an ISR: it may have lost what it had (KIP-841, KIP-903).
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.controller.fencing import check_epoch
from klamm.controller.partitions.change import RECOVERED, RECOVERING, change
from klamm.controller.partitions.election import Acceptable, rules_of
from klamm.metadata.effects import NO_LEADER_CHANGE, changed_partition
from klamm.metadata.image import ClusterImage, PartitionImage, TopicImage
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    BrokerState,
)

# A leader that is too old to know the epochs of its followers.
_ANY_EPOCH = -1


def alter(context: Context, request: AlterPartitionRequest) -> Decision[AlterPartitionResponse]:
    """Each partition stands for itself; only a leader of an earlier life is refused as a whole."""
    check_epoch(context.image, request.broker_id, request.broker_epoch)
    records: list[object] = []
    answers: list[AlterPartitionResponseTopicData] = []
    for asked in request.topics:
        topic = context.image.topics_by_id.get(asked.topic_id)
        answer = AlterPartitionResponseTopicData(topic_id=asked.topic_id, partitions=[])
        answers.append(answer)
        for wanted in asked.partitions:
            if topic is None:
                result = _refused(wanted, ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                result, record = _alter_one(context, topic, wanted, request.broker_id)
                if record is not None:
                    records.append(record)
            answer.partitions.append(result)
    return Decision(AlterPartitionResponse(topics=answers), records)


def _alter_one(
    context: Context,
    topic: TopicImage,
    wanted: AlterPartitionRequestPartitionData,
    sender: int,
) -> tuple[AlterPartitionResponsePartitionData, PartitionChangeRecord | None]:
    partition = topic.partition(wanted.partition_index)
    if partition is None:
        return _refused(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), None
    members = wanted.new_isr_with_epochs or [
        BrokerState(broker_id=each, broker_epoch=_ANY_EPOCH) for each in wanted.new_isr
    ]
    if problem := _problem(context.image, partition, wanted, members, sender):
        return _refused(wanted, problem), None
    record = change(
        topic.topic_id,
        wanted.partition_index,
        partition,
        rules=rules_of(context, topic),
        is_acceptable=Acceptable(context.image),
        isr=tuple(each.broker_id for each in members),
        recovery_state=wanted.leader_recovery_state,
    )
    if record is not None:
        partition = changed_partition(partition, record)
        if record.leader not in (NO_LEADER_CHANGE, sender):
            # The sender was taken away: this completed the reassignment.
            return _refused(wanted, ErrorCode.NEW_LEADER_ELECTED), record
    return _answer(wanted.partition_index, partition), record


def _problem(
    image: ClusterImage,
    partition: PartitionImage,
    wanted: AlterPartitionRequestPartitionData,
    members: list[BrokerState],
    sender: int,
) -> ErrorCode | None:
    """The order of the checks is Kafka's."""
    if wanted.leader_epoch > partition.leader_epoch:
        # The sender has seen more than this controller: there must be a newer one.
        return ErrorCode.NOT_CONTROLLER
    if wanted.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    ids = [each.broker_id for each in members]
    if not set(ids) <= set(partition.replicas) or len(set(ids)) != len(ids) or sender not in ids:
        return ErrorCode.INVALID_REQUEST
    recovery = wanted.leader_recovery_state
    if recovery not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    has_recovered = len(ids) > 1 or partition.leader_recovery_state == RECOVERED
    if recovery == RECOVERING and has_recovered:
        return ErrorCode.INVALID_REQUEST
    if any(not _is_eligible(image, each) for each in members):
        return ErrorCode.INELIGIBLE_REPLICA
    return None


def _is_eligible(image: ClusterImage, member: BrokerState) -> bool:
    broker = image.brokers.get(member.broker_id)
    return (
        broker is not None
        and broker.is_active
        and member.broker_epoch in (_ANY_EPOCH, broker.epoch)
    )


def _answer(index: int, partition: PartitionImage) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _refused(
    wanted: AlterPartitionRequestPartitionData, code: ErrorCode
) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(
        partition_index=wanted.partition_index, error_code=code
    )
