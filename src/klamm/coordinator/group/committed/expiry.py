"""Which offsets are no longer kept, and which groups have nothing left.

An offset is kept for offsets.retention.minutes after the group became empty, or, where the group itself has no say,
after it was committed; a commit of an old client may bring a time of its own. What members are subscribed to stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from klamm.base.clock import Ms
from klamm.coordinator.group.committed.pending import Committed, PendingOffsets
from klamm.coordinator.group.committed.store import OffsetStore
from klamm.coordinator.group.kind import Group
from klamm.coordinator.group.records import no_offset
from klamm.coordinator.records.framing import CoordinatorRecord

_NEVER = -1


def expired(
    groups: Iterable[Group],
    store: OffsetStore,
    pending: PendingOffsets,
    *,
    retention_ms: Ms,
    now: Ms,
) -> Iterator[CoordinatorRecord]:
    """The tombstones, of offsets and of groups that are left without members and offsets."""
    for group in groups:
        is_bare = not pending.has(group.group_id)
        for topic, partitions in store.of_group(group.group_id).items():
            if group.is_subscribed_to(topic):
                is_bare = False
                continue
            for partition, committed in partitions.items():
                if _is_expired(committed, group, retention_ms, now) and not pending.is_pending(
                    group.group_id, topic, partition
                ):
                    yield no_offset(group.group_id, topic, partition)
                else:
                    is_bare = False
        if is_bare and group.is_empty:
            yield from group.tombstones()


def _is_expired(committed: Committed, group: Group, retention_ms: Ms, now: Ms) -> bool:
    value = committed.value
    start = group.retention_start(value.commit_timestamp)
    if start is None:
        return False
    if value.expire_timestamp != _NEVER:
        return now >= value.expire_timestamp
    return now - start >= retention_ms
