"""Waiting: the requests that wait for a partition of this broker, each kind with its alarm clock.

Consumers wait for the high watermark, followers for the log's end, produces with acks=all for followers, and deletions for
all replicas.
"""

from __future__ import annotations

from klamm.base.clock import Clock, Ms
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ErrorCode
from klamm.replication.acks import Acknowledgements, Waiter
from klamm.replication.backlog import Backlogs
from klamm.replication.partition import Partition
from klamm.replication.purgatory import Purgatory
from klamm.server.fetch.delayed_fetch import DelayedFetch
from klamm.server.fetch.replica_fetch import ReplicaFetch
from klamm.server.replication.alarm import Alarm
from klamm.server.replication.delayed_deletion import DelayedDeletion

# How long, and how often, followers are called for after a change of leaders.
_CALL_MS = 1_000
_CALL_AGAIN_MS = 20
_FOR_EVER_MS = 1 << 40


class Waiting:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.fetches: Purgatory[DelayedFetch] = Purgatory()
        self._fetch_alarm = Alarm(clock, self.fetches.deadlines, DelayedFetch.expire)
        # What followers have to be told, and which of their fetches wait for it.
        self.backlogs = Backlogs()
        self.replica_fetches: Deadlines[ReplicaFetch] = Deadlines()
        self._replica_fetch_alarm = Alarm(clock, self.replica_fetches, ReplicaFetch.expire)
        # The followers of partitions that this broker has just begun to lead, and until when they are called for.
        self._called_for: dict[int, Ms] = {}
        self.acks = Acknowledgements()
        self._acks_alarm = Alarm(clock, self.acks.deadlines, self.acks.expire)
        self.deletions: Purgatory[DelayedDeletion] = Purgatory()
        self._deletion_alarm = Alarm(clock, self.deletions.deadlines, DelayedDeletion.expire)

    def park_fetch(self, fetch: DelayedFetch, deadline: Ms) -> None:
        self.fetches.park(fetch, fetch.places(), deadline)
        self._fetch_alarm.is_set(deadline)

    def park_replica_fetch(self, fetch: ReplicaFetch, deadline: Ms) -> None:
        if self._called_for and fetch.replica_id in self._called_for:
            deadline = min(deadline, self._next_call(fetch.replica_id))
        self.replica_fetches.set(fetch, deadline)
        self._replica_fetch_alarm.is_set(deadline)

    def _next_call(self, replica_id: int) -> Ms:
        now = self._clock.monotonic()
        if now < self._called_for[replica_id]:
            return now + _CALL_AGAIN_MS
        del self._called_for[replica_id]
        return now + _FOR_EVER_MS

    def park_deletion(self, deletion: DelayedDeletion, deadline: Ms) -> None:
        self.deletions.park(deletion, deletion.places(), deadline)
        self._deletion_alarm.is_set(deadline)

    def await_commit(
        self, waiter: Waiter, ends: list[tuple[Partition, int]], timeout_ms: int
    ) -> None:
        """The waiter hears when everything below these ends is committed, or that it takes too long."""
        deadline = self._clock.monotonic() + timeout_ms
        self.acks.wait(waiter, ends, deadline)
        self._acks_alarm.is_set(deadline)

    # -- what happened to a partition -----------------------------------------------------------------------------------

    def appended(self, partition: Partition) -> None:
        if self.backlogs.at:
            self.backlogs.grew(partition)
        if self.fetches:
            self.retry_fetches(partition)

    def committed(self, partition: Partition) -> None:
        self.acks.committed(partition)
        self.retry_fetches(partition)
        self.backlogs.learned(partition)

    def led_anew(self, partition: Partition) -> None:
        """Nothing more is committed until its followers fetch from here.

        One that follows other partitions from here has a fetch that waits, perhaps for half a second, and can name the new one
        only in its next: so it is answered, again and again, until the follower has heard of the new leader, too.
        """
        if partition.leadership is None:
            return
        until = self._clock.monotonic() + _CALL_MS
        for replica_id in partition.leadership.followers:
            if replica_id not in self._called_for:
                for fetch in [
                    each for each in self.replica_fetches if each.replica_id == replica_id
                ]:
                    fetch.expire()
            self._called_for[replica_id] = until

    def left(self, partition: Partition) -> None:
        """This broker does not lead it any more: who waits here is told to look elsewhere."""
        self.acks.moved(
            partition,
            ErrorCode.KAFKA_STORAGE_ERROR
            if partition.is_offline
            else ErrorCode.NOT_LEADER_OR_FOLLOWER,
        )
        self.low_watermark_moved(partition)
        self.retry_fetches(partition)
        self.backlogs.grew(partition)

    def low_watermark_moved(self, partition: Partition) -> None:
        for deletion in self.deletions.touched(partition.name):
            deletion.retry()

    def retry_fetches(self, partition: Partition) -> None:
        for fetch in self.fetches.touched(partition.name):
            fetch.retry(partition)

    def close(self) -> None:
        for alarm in (
            self._fetch_alarm,
            self._replica_fetch_alarm,
            self._acks_alarm,
            self._deletion_alarm,
        ):
            alarm.cancel()
