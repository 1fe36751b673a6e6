"""From time to time: leadership goes back to the preferred replicas, and who has none left to wait for gets any leader.

The second only where unclean.leader.election.enable allows it.
"""

from __future__ import annotations

from collections.abc import Callable

from klamm.base.clock import Ms
from klamm.base.settings.replication import ReplicationSettings
from klamm.controller.decision import Context
from klamm.controller.heartbeats import NEVER
from klamm.controller.partitions.change import Election, change
from klamm.controller.partitions.election import Acceptable, Place, places, rules_of
from klamm.metadata.image import NO_LEADER

# Elections of one round; if there are more to hold, the next round follows at once. Kafka's number.
_MAX_ELECTIONS = 1_000


class Balance:
    """When to look again. In memory, in monotonic time; a new controller waits for a whole interval first."""

    __slots__ = ("_preferred_at", "_settings", "_unclean_at")

    def __init__(self, settings: ReplicationSettings, now: Ms) -> None:
        self._settings = settings
        self._preferred_at = NEVER
        if settings.auto_leader_rebalance_enable:
            self._preferred_at = now + self._preferred_interval
        self._unclean_at = now + settings.unclean_election_interval_ms

    @property
    def _preferred_interval(self) -> Ms:
        return self._settings.leader_imbalance_check_interval_seconds * 1_000

    @property
    def next_wake(self) -> Ms:
        return min(self._preferred_at, self._unclean_at)

    def look_for_leaders(self, now: Ms) -> None:
        """Somebody has just allowed an unclean election: it is not put off."""
        self._unclean_at = now

    def wake(self, context: Context, now: Ms) -> list[object]:
        if self._preferred_at <= now:
            records = _preferred(context)
            self._preferred_at = now
            if len(records) < _MAX_ELECTIONS:
                self._preferred_at += self._preferred_interval
            return records
        if self._unclean_at <= now:
            records = _unclean(context)
            self._unclean_at = now
            if len(records) < _MAX_ELECTIONS:
                self._unclean_at += self._settings.unclean_election_interval_ms
            return records
        return []


def _preferred(context: Context) -> list[object]:
    return _elect(context, Election.PREFERRED, lambda each: each[2].leader != each[2].replicas[0])


def _unclean(context: Context) -> list[object]:
    def is_wanted(place: Place) -> bool:
        topic, _, partition = place
        return partition.leader == NO_LEADER and rules_of(context, topic).is_unclean_enabled

    return _elect(context, Election.UNCLEAN, is_wanted)


def _elect(
    context: Context, election: Election, is_wanted: Callable[[Place], bool]
) -> list[object]:
    acceptable = Acceptable(context.image)
    records: list[object] = []
    for place in places(context.image):
        if is_wanted(place):
            topic, index, partition = place
            record = change(
                topic.topic_id,
                index,
                partition,
                rules=rules_of(context, topic),
                is_acceptable=acceptable,
                election=election,
            )
            if record is not None:
                records.append(record)
                if len(records) >= _MAX_ELECTIONS:
                    break
    return records
