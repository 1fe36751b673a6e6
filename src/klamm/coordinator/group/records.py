"""The records of __consumer_offsets: their framing, and each kind in the version that Kafka 4.3 writes."""

from __future__ import annotations

from klamm.coordinator.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.records.group import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

FRAMING = Framing(
    (
        (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
        (OffsetCommitKey, OffsetCommitValue),
        (GroupMetadataKey, GroupMetadataValue),
        (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
        (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    )
)

_OFFSET_COMMIT_VERSION = 4
# The only version that holds a time to expire.
_EXPIRING_OFFSET_VERSION = 1
_GROUP_METADATA_VERSION = 3


def group_metadata(group_id: str, value: GroupMetadataValue) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), value, _GROUP_METADATA_VERSION)


def no_group(group_id: str) -> CoordinatorRecord:
    """A classic group is gone."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


def offset_commit(
    group_id: str, topic: str, partition: int, value: OffsetCommitValue
) -> CoordinatorRecord:
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    expires = value.expire_timestamp != -1
    return CoordinatorRecord(
        key, value, _EXPIRING_OFFSET_VERSION if expires else _OFFSET_COMMIT_VERSION
    )


def no_offset(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """A committed offset is gone."""
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))
