"""ConsumerGroup: one group of KIP-848 as its records tell it. replay() is the only thing that changes it.

epoch           rises when members, subscriptions or topics change: the target must be computed anew
target          who is to own what; computed for one epoch, target_epoch
members         who owns what now, each in an epoch of its own on the way to the target's
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import Partitions
from klamm.coordinator.group.consumer import records
from klamm.coordinator.group.consumer.member import Member, MemberState, partitions_of
from klamm.coordinator.group.consumer.records import ResolvedRegex
from klamm.coordinator.group.kind import GroupKind, PartitionCheck
from klamm.coordinator.records import consumer_group as kinds
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.metadata.image import TopicImage

# A new group and its empty target are both at this epoch, so a group that nobody has balanced is not behind.
_FIRST_EPOCH = 1
_NO_TARGET_EPOCH = -1
_NO_PARTITIONS: Partitions = {}
# The first version of OffsetCommit that can carry a member epoch.
_EPOCH_COMMIT_VERSION = 9


class ConsumerGroup:
    __slots__ = (
        "_assignors",
        "_names",
        "_owners",
        "_regexes",
        "checked_topics",
        "epoch",
        "group_id",
        "has_partition_metadata",
        "members",
        "metadata_hash",
        "resolved",
        "static_ids",
        "target",
        "target_epoch",
        "target_timestamp",
    )

    kind = GroupKind.CONSUMER
    protocol_type = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.members: dict[str, Member] = {}
        # The member that goes by each instance id.
        self.static_ids: dict[str, str] = {}
        self.target: dict[str, Partitions] = {}
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp: Ms = 0
        self.resolved: dict[str, ResolvedRegex] = {}
        # An older broker wrote a record that is no longer needed, and must be removed from the log.
        self.has_partition_metadata = False
        # Not in the log: the cluster's topics for which the hash was last computed.
        self.checked_topics: Mapping[str, TopicImage] | None = None
        # Derived: who owns each partition or must still give it up; how many members ask for what.
        self._owners: dict[Uuid, dict[int, str]] = {}
        self._names: Counter[str] = Counter()
        self._regexes: Counter[str] = Counter()
        self._assignors: Counter[str] = Counter()

    # Questions.

    def is_owned(self, topic_id: Uuid, partition: int) -> bool:
        return partition in self._owners.get(topic_id, ())

    def static_member(self, instance_id: str | None) -> Member | None:
        member_id = self.static_ids.get(instance_id) if instance_id is not None else None
        return self.members[member_id] if member_id is not None else None

    def known_member(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    @property
    def regexes(self) -> Collection[str]:
        return self._regexes

    def regex_subscribers(self, regex: str) -> int:
        return self._regexes[regex]

    def regexes_with(self, old: Member, new: Member) -> set[str]:
        """The patterns in use once `old` has become `new`."""
        counts = self._regexes.copy()
        _recount(counts, _regex_of(old), _regex_of(new))
        return set(counts)

    def topics_with(self, removed: Iterable[Member], added: Member | None = None) -> set[str]:
        """The names of all topics that anybody subscribes to, once some members have gone and one has come."""
        names, regexes = self._names.copy(), self._regexes.copy()
        for member in removed:
            _recount(names, member.topic_names, ())
            _recount(regexes, _regex_of(member), ())
        if added is not None:
            _recount(names, (), added.topic_names)
            _recount(regexes, (), _regex_of(added))
        topics = set(names)
        for regex, found in self.resolved.items():
            if regex in regexes:
                topics |= found.topics
        return topics

    def assignor_with(self, old: Member, new: Member) -> str | None:
        """What most members ask for."""
        counts = self._assignors.copy()
        _recount(counts, _assignor_of(old), _assignor_of(new))
        return counts.most_common(1)[0][0] if counts else None

    @property
    def assignor(self) -> str | None:
        return self._assignors.most_common(1)[0][0] if self._assignors else None

    @property
    def classic_count(self) -> int:
        return sum(member.classic is not None for member in self.members.values())

    def waits_for_others(self, member: Member) -> bool:
        """Whether something that the member is to get is still with another."""
        if member.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        target = self.target.get(member.member_id, _NO_PARTITIONS)
        return any(
            partition not in member.assigned.get(topic_id, ())
            and self.is_owned(topic_id, partition)
            for topic_id, partitions in target.items()
            for partition in partitions
        )

    def copy(self) -> ConsumerGroup:
        """To try records on. Members and partitions never change in place, so they may be shared."""
        other = ConsumerGroup(self.group_id)
        other.epoch, other.metadata_hash = self.epoch, self.metadata_hash
        other.members, other.static_ids = dict(self.members), dict(self.static_ids)
        other.target, other.target_epoch = dict(self.target), self.target_epoch
        other.target_timestamp, other.resolved = self.target_timestamp, dict(self.resolved)
        other.has_partition_metadata = self.has_partition_metadata
        other.checked_topics = self.checked_topics
        other._owners = {topic: dict(owners) for topic, owners in self._owners.items()}
        other._names, other._regexes = self._names.copy(), self._regexes.copy()
        other._assignors = self._assignors.copy()
        return other

    # Records.

    def replay(self, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        if isinstance(key, kinds.ConsumerGroupMetadataKey):
            assert isinstance(value, kinds.ConsumerGroupMetadataValue)
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        elif isinstance(key, kinds.ConsumerGroupPartitionMetadataKey):
            self.has_partition_metadata = value is not None
        elif isinstance(key, kinds.ConsumerGroupMemberMetadataKey):
            self._replay_subscription(key.member_id, value)
        elif isinstance(key, kinds.ConsumerGroupTargetAssignmentMetadataKey):
            self._replay_target_epoch(value)
        elif isinstance(key, kinds.ConsumerGroupTargetAssignmentMemberKey):
            self._replay_target(key.member_id, value)
        elif isinstance(key, kinds.ConsumerGroupCurrentMemberAssignmentKey):
            self._replay_current(key.member_id, value)
        else:
            assert isinstance(key, kinds.ConsumerGroupRegularExpressionKey)
            self._replay_regex(key.regular_expression, value)

    def _replay_subscription(self, member_id: str, value: object) -> None:
        old = self.members.get(member_id)
        if isinstance(value, kinds.ConsumerGroupMemberMetadataValue):
            self._change(old, records.with_subscription(old or Member(member_id), value))
        elif old is not None:
            self._change(old, None)

    def _replay_current(self, member_id: str, value: object) -> None:
        old = self.members.get(member_id)
        if isinstance(value, kinds.ConsumerGroupCurrentMemberAssignmentValue):
            self._change(old, records.with_current(old or Member(member_id), value))
        elif old is not None:
            nothing = replace(old, epoch=-1, previous_epoch=-1, assigned={}, pending_revocation={})
            self._change(old, nothing)

    def _replay_target(self, member_id: str, value: object) -> None:
        if isinstance(value, kinds.ConsumerGroupTargetAssignmentMemberValue):
            self.target[member_id] = {
                topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
            }
        else:
            self.target.pop(member_id, None)

    def _replay_target_epoch(self, value: object) -> None:
        if isinstance(value, kinds.ConsumerGroupTargetAssignmentMetadataValue):
            self.target_epoch = value.assignment_epoch
            self.target_timestamp = value.assignment_timestamp
        else:
            self.target_epoch, self.target_timestamp = _NO_TARGET_EPOCH, 0

    def _replay_regex(self, regex: str, value: object) -> None:
        if isinstance(value, kinds.ConsumerGroupRegularExpressionValue):
            self.resolved[regex] = ResolvedRegex(
                frozenset(value.topics), value.version, value.timestamp
            )
        else:
            self.resolved.pop(regex, None)

    def _change(self, old: Member | None, new: Member | None) -> None:
        """The one place where members change, and all that is derived from them."""
        if old is not None:
            for topic_id, partition in _all_partitions(old):
                owners = self._owners.get(topic_id, {})
                if owners.get(partition) == old.member_id:
                    del owners[partition]
                    if not owners:
                        del self._owners[topic_id]
            if (
                old.instance_id is not None
                and self.static_ids.get(old.instance_id) == old.member_id
            ):
                del self.static_ids[old.instance_id]
        if new is None:
            assert old is not None
            del self.members[old.member_id]
        else:
            for topic_id, partition in _all_partitions(new):
                self._owners.setdefault(topic_id, {})[partition] = new.member_id
            if new.instance_id is not None:
                self.static_ids[new.instance_id] = new.member_id
            self.members[new.member_id] = new
        _recount(self._names, old.topic_names if old else (), new.topic_names if new else ())
        _recount(self._regexes, _regex_of(old), _regex_of(new))
        _recount(self._assignors, _assignor_of(old), _assignor_of(new))

    def tombstones(self) -> Sequence[CoordinatorRecord]:
        return self.tombstones_of(self.members)

    def tombstones_of(self, member_ids: Iterable[str]) -> Sequence[CoordinatorRecord]:
        group_id, members = self.group_id, list(member_ids)
        return [
            *(records.no_current(group_id, each) for each in members),
            *(records.no_target(group_id, each) for each in members),
            records.no_target_epoch(group_id),
            *(records.no_subscription(group_id, each) for each in members),
            *(records.no_regex(group_id, each) for each in self.resolved),
            records.no_partition_metadata(group_id),
            records.no_group(group_id),
        ]

    # What every kind of group is asked.

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        if all(each.is_reconciled_to(self.target_epoch) for each in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def check_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        version: int,
    ) -> PartitionCheck | None:
        epoch = generation_or_epoch
        if epoch < 0 and not self.members:
            # A tool, or a consumer that assigns its partitions itself.
            return None
        if is_transactional and epoch == -1 and not member_id and group_instance_id is None:
            # Old transactional clients say nothing about the member.
            return None
        member = self.known_member(member_id)
        if not is_transactional and member.classic is None and version < _EPOCH_COMMIT_VERSION:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        if epoch == member.epoch:
            return None
        if epoch > member.epoch:
            raise _stale(member)
        return _check_of(member, epoch)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        member = self.known_member(member_id or "")
        if epoch != member.epoch:
            raise _stale(member)

    def check_offset_delete(self) -> None:
        """Always; of topics that are subscribed to it is refused one by one."""

    def check_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._names or any(
            topic in found.topics for found in self.resolved.values()
        )

    def retention_start(self, committed_at: Ms) -> Ms | None:
        return committed_at

    def check_invariants(self) -> None:
        owned = Counter(
            place for member in self.members.values() for place in _all_partitions(member)
        )
        assert all(count == 1 for count in owned.values()), "a partition with two owners"
        assert set(owned) == {(topic, p) for topic, ps in self._owners.items() for p in ps}
        promised = Counter(
            (topic_id, partition)
            for partitions in self.target.values()
            for topic_id, numbers in partitions.items()
            for partition in numbers
        )
        assert all(count == 1 for count in promised.values()), "a partition is promised twice"
        assert self.target.keys() <= self.members.keys()


def _all_partitions(member: Member) -> Iterable[tuple[Uuid, int]]:
    yield from partitions_of(member.assigned)
    yield from partitions_of(member.pending_revocation)


def _regex_of(member: Member | None) -> tuple[str, ...]:
    return (member.topic_regex,) if member is not None and member.topic_regex else ()


def _assignor_of(member: Member | None) -> tuple[str, ...]:
    if member is None or member.server_assignor is None:
        return ()
    return (member.server_assignor,)


def _recount(counts: Counter[str], gone: Iterable[str], come: Iterable[str]) -> None:
    for each in gone:
        counts[each] -= 1
        if not counts[each]:
            del counts[each]
    counts.update(come)


def _stale(member: Member) -> ApiError:
    """Members that speak the classic protocol know the epoch as a generation."""
    return ApiError(
        ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    )


def _check_of(member: Member, epoch: int) -> PartitionCheck:
    """A member that has not heard of its new epoch may commit what was its own in the old one already."""

    def check(topic: str, topic_id: Uuid, partition: int) -> None:
        since = member.assignment_epoch(topic_id, partition)
        if since is None or epoch < since:
            raise _stale(member)

    return check
