"""uniform: as equal a share for everyone as the subscriptions allow, moving as little as possible.

Where all members subscribe to the same topics the shares differ by one at most (below). Where they do not, mixed.py
levels them topic by topic. As in Kafka 4.3 neither looks at racks.
"""

from __future__ import annotations

from collections.abc import Iterable

from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.mixed import assign_mixed
from klamm.coordinator.group.assignors.spec import GroupSpec, Partitions


def assign_uniformly(spec: GroupSpec) -> dict[str, Partitions]:
    subscriptions = [member.topics for member in spec.members.values()]
    if not subscriptions:
        return {}
    topics = frozenset(subscriptions[0])
    first = subscriptions[0]
    # Members with equal subscriptions often share the object.
    if all(each is first or topics == frozenset(each) for each in subscriptions):
        return _assign_equal(spec, topics)
    return assign_mixed(spec)


def _assign_equal(spec: GroupSpec, topics: frozenset[Uuid]) -> dict[str, Partitions]:
    counts = {topic: spec.partition_counts[topic] for topic in topics}
    quota, extras = divmod(sum(counts.values()), len(spec.members))
    free = {topic: set(range(count)) for topic, count in counts.items()}
    kept: dict[str, dict[Uuid, set[int]]] = {}
    open_places: list[tuple[str, int]] = []
    for place, (member_id, member) in enumerate(spec.members.items()):
        allowed = quota + (extras > 0)
        mine, size = _keep(member.assigned, free, allowed)
        kept[member_id] = mine
        # An extra that this member does not fill is passed on, as long as enough others can take it.
        if size <= quota and len(spec.members) - place > extras:
            allowed = quota
        if allowed > quota:
            extras -= 1
        if size < allowed:
            open_places.append((member_id, allowed - size))
    _hand_out(free, open_places, kept)
    return {member_id: _frozen(mine) for member_id, mine in kept.items()}


def _keep(
    assigned: Partitions, free: dict[Uuid, set[int]], allowed: int
) -> tuple[dict[Uuid, set[int]], int]:
    """What a member keeps of its own, which is then no longer free, and how much that is."""
    mine: dict[Uuid, set[int]] = {}
    size = 0
    for topic, partitions in assigned.items():
        if topic not in free or size == allowed:
            continue
        stay = sorted(free[topic] & partitions)[: allowed - size]
        if stay:
            mine[topic] = set(stay)
            free[topic].difference_update(stay)
            size += len(stay)
    return mine, size


def _hand_out(
    free: dict[Uuid, set[int]],
    open_places: Iterable[tuple[str, int]],
    kept: dict[str, dict[Uuid, set[int]]],
) -> None:
    left = iter([(topic, each) for topic in sorted(free) for each in sorted(free[topic])])
    for member_id, places in open_places:
        for _ in range(places):
            topic, partition = next(left)
            kept[member_id].setdefault(topic, set()).add(partition)
    assert next(left, None) is None, "the quotas do not add up to the partitions"


def _frozen(mine: dict[Uuid, set[int]]) -> Partitions:
    return {topic: frozenset(partitions) for topic, partitions in mine.items()}
