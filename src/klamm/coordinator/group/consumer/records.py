"""The records of consumer groups as Kafka 4.3 writes them, and what they say of a member."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from klamm.coordinator.group.assignors.spec import Partitions
from klamm.coordinator.group.consumer.member import (
    ClassicFacts,
    ClassicProtocol,
    Member,
    MemberState,
    Owned,
)
from klamm.coordinator.records import consumer_group as kinds
from klamm.coordinator.records.framing import CoordinatorRecord

# Every value has one version so far.
_VERSION = 0

Key = (
    kinds.ConsumerGroupMetadataKey
    | kinds.ConsumerGroupPartitionMetadataKey
    | kinds.ConsumerGroupMemberMetadataKey
    | kinds.ConsumerGroupTargetAssignmentMetadataKey
    | kinds.ConsumerGroupTargetAssignmentMemberKey
    | kinds.ConsumerGroupCurrentMemberAssignmentKey
    | kinds.ConsumerGroupRegularExpressionKey
)
KEYS: tuple[type, ...] = get_args(Key)


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a pattern matched at one offset of the metadata and at one time."""

    topics: frozenset[str] = frozenset()
    version: int = 0
    timestamp: int = 0


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = kinds.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(kinds.ConsumerGroupMetadataKey(group_id=group_id), value, _VERSION)


def no_group(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(kinds.ConsumerGroupMetadataKey(group_id=group_id))


def no_partition_metadata(group_id: str) -> CoordinatorRecord:
    """Brokers before 4.1 wrote what the hash stands for now."""
    return CoordinatorRecord(kinds.ConsumerGroupPartitionMetadataKey(group_id=group_id))


def subscription(group_id: str, member: Member) -> CoordinatorRecord:
    value = kinds.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=_classic_value(member.classic),
    )
    return CoordinatorRecord(_subscription_key(group_id, member.member_id), value, _VERSION)


def no_subscription(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_subscription_key(group_id, member_id))


def _subscription_key(group_id: str, member_id: str) -> kinds.ConsumerGroupMemberMetadataKey:
    return kinds.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def target_epoch(group_id: str, epoch: int, timestamp: int) -> CoordinatorRecord:
    value = kinds.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp
    )
    key = kinds.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    return CoordinatorRecord(key, value, _VERSION)


def no_target_epoch(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(kinds.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id))


def target(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    value = kinds.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            kinds.TopicPartition(topic_id=topic_id, partitions=sorted(numbers))
            for topic_id, numbers in partitions.items()
        ]
    )
    return CoordinatorRecord(_target_key(group_id, member_id), value, _VERSION)


def no_target(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_target_key(group_id, member_id))


def _target_key(group_id: str, member_id: str) -> kinds.ConsumerGroupTargetAssignmentMemberKey:
    return kinds.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def current(group_id: str, member: Member) -> CoordinatorRecord:
    value = kinds.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_owned_value(member.assigned),
        partitions_pending_revocation=_owned_value(member.pending_revocation),
    )
    return CoordinatorRecord(_current_key(group_id, member.member_id), value, _VERSION)


def no_current(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_current_key(group_id, member_id))


def _current_key(group_id: str, member_id: str) -> kinds.ConsumerGroupCurrentMemberAssignmentKey:
    return kinds.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def regex(group_id: str, pattern: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    value = kinds.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp
    )
    return CoordinatorRecord(_regex_key(group_id, pattern), value, _VERSION)


def no_regex(group_id: str, pattern: str) -> CoordinatorRecord:
    return CoordinatorRecord(_regex_key(group_id, pattern))


def _regex_key(group_id: str, pattern: str) -> kinds.ConsumerGroupRegularExpressionKey:
    return kinds.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In this order: whoever reads them finds a member without partitions before it finds none."""
    return [
        no_current(group_id, member_id),
        no_target(group_id, member_id),
        no_subscription(group_id, member_id),
    ]


# Reading them.


def with_subscription(member: Member, value: kinds.ConsumerGroupMemberMetadataValue) -> Member:
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=frozenset(value.subscribed_topic_names),
        topic_regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=_classic_facts(value.classic_member_metadata),
    )


def with_current(member: Member, value: kinds.ConsumerGroupCurrentMemberAssignmentValue) -> Member:
    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState.of(value.state),
        assigned=_owned(value.assigned_partitions, value.member_epoch),
        pending_revocation=_owned(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned_value(owned: Owned) -> list[kinds.TopicPartitions]:
    return [
        kinds.TopicPartitions(
            topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values())
        )
        for topic_id, epochs in owned.items()
    ]


def _owned(topics: Iterable[kinds.TopicPartitions], member_epoch: int) -> Owned:
    owned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            # Brokers before 4.3 did not write them.
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned


def _classic_value(facts: ClassicFacts | None) -> kinds.ClassicMemberMetadata | None:
    if facts is None:
        return None
    return kinds.ClassicMemberMetadata(
        session_timeout_ms=facts.session_timeout_ms,
        supported_protocols=[
            kinds.ClassicProtocol(name=each.name, metadata=each.metadata)
            for each in facts.protocols
        ],
    )


def _classic_facts(value: kinds.ClassicMemberMetadata | None) -> ClassicFacts | None:
    if value is None:
        return None
    return ClassicFacts(
        value.session_timeout_ms,
        # What was read from the log is a view of a buffer that others will use again.
        tuple(
            ClassicProtocol(each.name, bytes(each.metadata)) for each in value.supported_protocols
        ),
    )
