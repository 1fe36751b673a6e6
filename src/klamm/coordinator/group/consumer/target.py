"""The target assignment: what an assignor makes of a group's members and the cluster's topics, as records."""

from __future__ import annotations

from collections.abc import Mapping

from klamm.base.clock import Ms
from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import (
    Assignor,
    GroupSpec,
    MemberSpec,
    Partitions,
)
from klamm.coordinator.group.consumer import records
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import Member
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.metadata.image import ClusterImage

NO_PARTITIONS: Partitions = {}


class Subscriptions:
    """The ids of the topics that members subscribe to. Most members share theirs with others."""

    __slots__ = ("_group", "_image", "_known")

    def __init__(self, group: ConsumerGroup, image: ClusterImage) -> None:
        self._group = group
        self._image = image
        self._known: dict[tuple[frozenset[str], str | None], frozenset[Uuid]] = {}

    def of(self, member: Member) -> frozenset[Uuid]:
        """Of those that exist. A pattern that is not resolved yet adds nothing."""
        key = (member.topic_names, member.topic_regex)
        known = self._known.get(key)
        if known is None:
            names = member.topic_names
            if member.topic_regex and member.topic_regex in self._group.resolved:
                names |= self._group.resolved[member.topic_regex].topics
            topics = self._image.topics_by_name
            known = frozenset(topics[name].topic_id for name in names if name in topics)
            self._known[key] = known
        return known

    def all(self) -> frozenset[Uuid]:
        """Of all members that were asked for."""
        return frozenset().union(*self._known.values())


def compute_target(
    group: ConsumerGroup, updated: Member, assignor: Assignor, image: ClusterImage
) -> dict[str, Partitions]:
    """For all members, of which one is about to change or to come."""
    members: Mapping[str, Member] = {**group.members, updated.member_id: updated}
    subscriptions = Subscriptions(group, image)
    specs = {
        member_id: MemberSpec(
            subscriptions.of(member),
            group.target.get(member_id, NO_PARTITIONS),
            member.instance_id,
        )
        for member_id, member in members.items()
    }
    topics = image.topics_by_id
    counts = {each: len(topics[each].partitions) for each in subscriptions.all()}
    return assignor(GroupSpec(specs, counts))


def target_records(
    group: ConsumerGroup, target: Mapping[str, Partitions], epoch: int, now: Ms
) -> list[CoordinatorRecord]:
    """Only of the members whose part changed, and of those that have none yet."""
    changed = [
        records.target(group.group_id, member_id, partitions)
        for member_id, partitions in target.items()
        if partitions != group.target.get(member_id)
    ]
    return [*changed, records.target_epoch(group.group_id, epoch, now)]
