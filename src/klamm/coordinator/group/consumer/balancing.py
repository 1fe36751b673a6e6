"""Balancing: what a heartbeat (or a classic member's JoinGroup) does to a group, in three steps.

    1  the member's subscription is written if it changed; the group's epoch rises if that, or a topic, matters
    2  the target is computed anew if it is behind the group's epoch, and the last one is not too young
    3  the member is taken one step towards the target

Only reads the group and gathers records; what is not written down (alarms) is left to the caller, who may still refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError
from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import Partitions
from klamm.coordinator.group.assignors.table import ASSIGNORS
from klamm.coordinator.group.consumer import records
from klamm.coordinator.group.consumer.configs import GroupConfigs
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import Member
from klamm.coordinator.group.consumer.reconciliation import Claimed, Goal, reconcile
from klamm.coordinator.group.consumer.regex import check_regex, matching
from klamm.coordinator.group.consumer.target import (
    NO_PARTITIONS,
    Subscriptions,
    compute_target,
    target_records,
)
from klamm.coordinator.group.consumer.topic_hash import TopicHashes
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.metadata.image import TopicImage

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

# Patterns are looked up again no sooner than this after the last time, however many topics are created.
_REGEX_PAUSE_MS = 10_000


@dataclass(slots=True)
class Step:
    """One member's step. `group` may be a copy that the records so far have been tried on."""

    group: ConsumerGroup
    # Before and after; the first is a new Member if it is about to come.
    before: Member
    after: Member
    claimed: Claimed
    now: Now
    records: list[CoordinatorRecord] = field(default_factory=list)
    # Of the group, as the records will make it.
    epoch: int = 0
    has_subscription_changed: bool = False
    must_resolve: bool = False
    has_moved: bool = False

    def __post_init__(self) -> None:
        self.epoch = self.group.epoch


class Balancing:
    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self._hashes = TopicHashes()
        # The topics that were seen last, and the offset at which some of them were new.
        self._seen_topics: Mapping[Uuid, TopicImage] | None = None
        self._newest_topics = -1

    # Step 1.

    def subscribe(self, step: Step, *, waits_for_regex: bool) -> None:
        """With `waits_for_regex` a pattern that is new to the group counts only when it is resolved."""
        group, before, after = step.group, step.before, step.after
        if after is not before and after != before:
            step.records.append(records.subscription(group.group_id, after))
        has_new_names = after.topic_names != before.topic_names
        is_resolved = self._change_regex(step)
        has_new_regex = after.topic_regex != before.topic_regex
        step.has_subscription_changed = has_new_names or has_new_regex
        must_bump = has_new_names or (is_resolved if waits_for_regex else has_new_regex)
        if must_bump or group.checked_topics is not self._shard.image.topics_by_name:
            self._refresh(step, must_bump)

    def _change_regex(self, step: Step) -> bool:
        """Whether the pattern changed to one whose topics are known; none at all is such a one."""
        group, old, new = step.group, step.before.topic_regex, step.after.topic_regex
        is_resolved = False
        if old != new:
            if old and group.regex_subscribers(old) == 1:
                step.records.append(records.no_regex(group.group_id, old))
            if new and not group.regex_subscribers(new):
                check_regex(new)
                step.must_resolve = True
            else:
                is_resolved = new in group.resolved if new else bool(old)
        step.must_resolve = self._is_resolving_due(step)
        return is_resolved

    def _is_resolving_due(self, step: Step) -> bool:
        group = step.group
        if not group.regexes and not step.after.topic_regex:
            return False
        in_use = group.regexes_with(step.before, step.after)
        if not in_use:
            return False
        last = next(iter(group.resolved.values()), None)
        if last is None:
            return True
        # A timestamp from the future says nothing: somebody has set the clock back.
        age = step.now.wall - last.timestamp
        if 0 <= age <= _REGEX_PAUSE_MS:
            return False
        interval = self._shard.settings.group_consumer_regex_refresh_interval_ms
        return (
            step.must_resolve
            or len(in_use) != len(group.resolved)
            or last.version < self._newest_topics_offset()
            or age > interval
        )

    def _newest_topics_offset(self) -> int:
        image = self._shard.image
        if image.topics_by_id is not self._seen_topics:
            if self._seen_topics is None or image.topics_by_id.keys() - self._seen_topics.keys():
                self._newest_topics = image.offset
            self._seen_topics = image.topics_by_id
        return self._newest_topics

    def _refresh(self, step: Step, must_bump: bool) -> None:
        group, image = step.group, self._shard.image
        topics = group.topics_with([step.before], step.after)
        metadata_hash = self._hashes.of_group(topics, image)
        if must_bump or metadata_hash != group.metadata_hash:
            step.epoch += 1
            step.records.append(records.group_epoch(group.group_id, step.epoch, metadata_hash))
        if group.has_partition_metadata:
            step.records.append(records.no_partition_metadata(group.group_id))

    # Steps 2 and 3.

    def balance(self, step: Step) -> None:
        """Raises ApiError where the member has to begin anew."""
        target, epoch = self._target(step)
        self.reconcile(step, target, epoch)

    def reconcile(self, step: Step, target: Partitions, epoch: int) -> None:
        if not step.has_subscription_changed and step.after.is_reconciled_to(epoch):
            return
        topic_ids = Subscriptions(step.group, self._shard.image).of(step.after)
        goal = Goal(epoch, target, topic_ids, step.group.is_owned)
        member = reconcile(
            step.after,
            goal,
            step.claimed,
            has_subscription_changed=step.has_subscription_changed,
        )
        if member != step.after:
            step.records.append(records.current(step.group.group_id, member))
            step.has_moved = True
        step.after = member

    def _target(self, step: Step) -> tuple[Partitions, int]:
        group, shard = step.group, self._shard
        member_id = step.after.member_id
        if group.target_epoch >= step.epoch or not self._may_assign(group, step.now.wall):
            return group.target.get(member_id, NO_PARTITIONS), group.target_epoch
        name = group.assignor_with(step.before, step.after)
        assignor = ASSIGNORS[name or shard.settings.group_consumer_assignors[0]]
        target = compute_target(group, step.after, assignor, shard.image)
        step.records.extend(target_records(group, target, step.epoch, step.now.wall))
        return target[member_id], step.epoch

    def _may_assign(self, group: ConsumerGroup, now: Ms) -> bool:
        configs = GroupConfigs(group.group_id, self._shard.image, self._shard.settings)
        interval = configs.assignment_interval_ms
        is_first = not group.target_timestamp
        # The clock may have been set back since; then the interval is over, too.
        return is_first or not 0 <= now - group.target_timestamp < interval

    def accept(self, step: Step) -> None:
        """Nothing was refused: what the step has looked at need not be looked at again."""
        group = self._shard.groups.get(step.group.group_id)
        if isinstance(group, ConsumerGroup):
            group.checked_topics = self._shard.image.topics_by_name

    # On its own.

    def hash_without(self, group: ConsumerGroup, gone: list[Member]) -> int:
        return self._hashes.of_group(group.topics_with(gone), self._shard.image)

    def hash_of(self, group: ConsumerGroup) -> int:
        return self.hash_without(group, [])

    def resolve(
        self, group: ConsumerGroup, now: Ms, may_see: Callable[[str], bool] | None = None
    ) -> list[CoordinatorRecord]:
        """Look all patterns of a group up among the topics. What matched anew is seen by its next heartbeat.

        `may_see`: which topics there are for whoever wanted it.
        """
        image = self._shard.image
        tried = group.copy()
        found: list[CoordinatorRecord] = []
        for pattern in sorted(group.regexes):
            topics = _matching(pattern, image.topics_by_name)
            if may_see is not None:
                topics = frozenset(filter(may_see, topics))
            resolved = records.ResolvedRegex(topics, image.offset, now)
            found.append(records.regex(group.group_id, pattern, resolved))
            tried.replay(found[-1])
        metadata_hash = self.hash_of(tried)
        is_changed = any(
            tried.resolved[pattern].topics
            != group.resolved.get(pattern, records.ResolvedRegex()).topics
            for pattern in group.regexes
        )
        if is_changed or metadata_hash != group.metadata_hash:
            found.append(records.group_epoch(group.group_id, group.epoch + 1, metadata_hash))
        return found

    def follow(self) -> None:
        self._hashes.forget_missing(self._shard.image)


def _matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Another broker may have accepted a pattern that our engine does not: it matches nothing."""
    try:
        return matching(pattern, names)
    except ApiError:
        return frozenset()
