"""Reconciliation: the next step of one member from what it owns towards what it is to own.

A member goes to the target's epoch only when it has given up all that is not its own any more. It gets a partition only
when nobody owns it. So a partition has one owner at any time, whoever is slow:

    has to give something up, and has not said that it did   UNREVOKED_PARTITIONS, in the old epoch
    gave it up; something is still with others               UNRELEASED_PARTITIONS, in the target's epoch
    has all of the target                                    STABLE, in the target's epoch
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import Partitions
from klamm.coordinator.group.consumer.member import Member, MemberState, Owned

# What a member says it owns; None where it said nothing in this heartbeat.
Claimed = Mapping[Uuid, Collection[int]] | None


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the member is to go, and what it may see on the way."""

    epoch: int
    target: Partitions
    # The topics that the member subscribes to now; the target may be older than that.
    topic_ids: Collection[Uuid]
    # Whether anybody of the group, this member too, owns the partition or must still give it up.
    is_owned: Callable[[Uuid, int], bool]


def reconcile(
    member: Member, goal: Goal, claimed: Claimed, *, has_subscription_changed: bool
) -> Member:
    """The same object if there is no step to take. Raises ApiError where the member has to begin anew."""
    if member.state is MemberState.STABLE:
        if member.epoch != goal.epoch:
            return _step(member, goal, claimed)
        return _drop_unsubscribed(member, goal, claimed) if has_subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if not _still_owns(member.pending_revocation, claimed):
            return _step(member, goal, claimed)
        return _drop_unsubscribed(member, goal, claimed) if has_subscription_changed else member
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        return _step(member, goal, claimed)
    # A newer broker left the member in a state that means nothing here.
    if claimed is None or claimed:
        raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH)
    return _step(member, goal, claimed)


def _step(member: Member, goal: Goal, claimed: Claimed) -> Member:
    kept: dict[Uuid, dict[int, int]] = {}
    revoked: dict[Uuid, dict[int, int]] = {}
    added: dict[Uuid, list[int]] = {}
    is_waiting = False
    for topic_id in dict.fromkeys((*goal.target, *member.assigned)):
        current = member.assigned.get(topic_id, _NO_EPOCHS)
        is_subscribed = topic_id in goal.topic_ids
        wanted = goal.target.get(topic_id, _NO_PARTITIONS) if is_subscribed else _NO_PARTITIONS
        released = member.pending_revocation.get(topic_id, _NO_EPOCHS)
        for partition, epoch in current.items():
            side = kept if partition in wanted else revoked
            side.setdefault(topic_id, {})[partition] = epoch
        for partition in sorted(wanted - current.keys()):
            # What it has just given up itself counts as free, though it is still written as its own.
            if goal.is_owned(topic_id, partition) and partition not in released:
                is_waiting = True
            else:
                added.setdefault(topic_id, []).append(partition)
    if revoked and _still_owns(revoked, claimed):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation=revoked,
        )
    for topic_id, partitions in added.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(partitions, goal.epoch))
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=kept,
        pending_revocation={},
    )


def _drop_unsubscribed(member: Member, goal: Goal, claimed: Claimed) -> Member:
    """Within its epoch: topics it no longer subscribes to go, before the target is computed anew."""
    gone = [topic_id for topic_id in member.assigned if topic_id not in goal.topic_ids]
    if not gone:
        return member
    kept = {topic: epochs for topic, epochs in member.assigned.items() if topic not in gone}
    revoked = dict(member.pending_revocation)
    for topic_id in gone:
        revoked[topic_id] = {**revoked.get(topic_id, {}), **member.assigned[topic_id]}
    if _still_owns(revoked, claimed):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation=revoked,
        )
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _still_owns(revoked: Owned, claimed: Claimed) -> bool:
    """A member that does not say what it owns may own it all."""
    if claimed is None:
        return True
    return any(
        partition in revoked.get(topic_id, _NO_EPOCHS)
        for topic_id, partitions in claimed.items()
        for partition in partitions
    )


_NO_EPOCHS: Mapping[int, int] = {}
_NO_PARTITIONS: frozenset[int] = frozenset()


def is_covered(claimed: Claimed, assigned: Owned) -> bool:
    """Whether the member claims nothing beyond what it was given; false where it claims nothing at all."""
    if claimed is None:
        return False
    return all(
        partition in assigned.get(topic_id, _NO_EPOCHS)
        for topic_id, partitions in claimed.items()
        for partition in partitions
    )


def claims(pairs: Sequence[tuple[Uuid, Sequence[int]]] | None) -> Claimed:
    """A request's list of topics and partitions; a topic may stand in it twice."""
    if pairs is None:
        return None
    claimed: dict[Uuid, set[int]] = {}
    for topic_id, partitions in pairs:
        claimed.setdefault(topic_id, set()).update(partitions)
    return claimed
