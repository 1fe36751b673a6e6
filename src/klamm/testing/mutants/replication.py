"""Bugs of leaders, followers and the controller's care for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from klamm.base.errors import ErrorCode
from klamm.controller import fencing
from klamm.controller.partitions import election, isr
from klamm.controller.partitions.change import Rules
from klamm.log.log import Log
from klamm.replication import fetcher
from klamm.replication.acks import Acknowledgements
from klamm.replication.leader import Leadership
from klamm.replication.partition import Partition
from klamm.server.fetch import replica_fetch
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.testing.mutants.mutant import Patch, mutant


@mutant
def acknowledges_before_the_isr_has_it(patch: Patch) -> None:
    """A produce with acks=all is answered when the leader alone has it."""

    def wait(self: Acknowledgements, waiter: Any, ends: list[Any], deadline: int) -> None:
        for partition, _ in ends:
            asyncio.get_running_loop().call_soon(waiter.heard, partition, ErrorCode.NONE)

    patch.set(Acknowledgements, "wait", wait)


@mutant
def commits_what_one_follower_has(patch: Patch) -> None:
    """The high watermark follows the fastest member of the ISR, not the slowest."""

    def committed_end(self: Leadership, end_offset: int) -> int:
        ends = [each.end_offset for each in self.followers.values()]
        return min(end_offset, max(ends, default=end_offset))

    patch.set(Leadership, "committed_end", committed_end)


@mutant
def commits_below_min_isr(patch: Patch) -> None:
    """min.insync.replicas is not looked at."""
    patch.set(Partition, "min_isr", property(lambda self: 1))


@mutant
def fences_no_old_leader(patch: Patch) -> None:
    """The controller takes an ISR from whoever sends one, whatever epochs it knows."""
    patch.set(isr, "_problem", lambda *_: None)


@mutant
def lets_a_stale_replica_into_the_isr(patch: Patch) -> None:
    """Nobody asks whether a follower was started anew since it fetched (KIP-903)."""
    patch.set(Leadership, "_is_eligible", lambda self, follower: True)
    patch.set(Leadership, "check_broker_epoch", lambda self, broker_id, broker_epoch: None)
    patch.set(isr, "_is_eligible", lambda image, member: True)


@mutant
def cuts_below_the_high_watermark(patch: Patch) -> None:
    """A follower whose log went another way cuts a little more than it should."""

    def truncation_offset(log: Log, leader_epoch: int, leader_end: int) -> int:
        return max(log.start_offset, whole(log, leader_epoch, leader_end) - 3)

    whole: Callable[..., int] = patch.set(fetcher, "truncation_offset", truncation_offset)


@mutant
def never_cuts(patch: Patch) -> None:
    """A leader does not tell a follower that its log went another way."""
    patch.set(replica_fetch, "divergence", lambda partition, asked: None)


@mutant
def cuts_to_its_own_high_watermark(patch: Patch) -> None:
    """Who begins to follow drops what it does not know to be committed: Kafka before KIP-101."""

    def make_follower(self: Partition, state: Any) -> bool:
        is_news: bool = whole(self, state)
        if is_news and not self.is_offline and self.high_watermark < self.log.end_offset:
            self.log.truncate_to(self.high_watermark, 0)
        return is_news

    whole = patch.set(Partition, "make_follower", make_follower)


@mutant
def elects_whoever_lives(patch: Patch) -> None:
    """Elections are always unclean."""

    def rules_of(context: Any, topic: Any) -> Rules:
        return replace(whole(context, topic), is_unclean_enabled=True)

    whole: Callable[..., Rules] = patch.set(election, "rules_of", rules_of)


@mutant
def shows_what_is_not_committed(patch: Patch) -> None:
    """Consumers read up to the end of the log."""
    patch.set(Partition, "visible_end", lambda self, isolation: self.log.end_offset)


@mutant
def deletes_what_is_not_committed(patch: Patch) -> None:
    """Retention goes up to the end of the log, and does not spare the active segment."""

    def retain(self: Partition, now: int) -> int:
        if self.settings.retention_bytes >= 0 and self.log.size_bytes() > 1_000:
            self.log.roll(now)
        return len(self.log.retain(now, up_to=self.log.end_offset))

    patch.set(Partition, "retain", retain)


@mutant
def is_unfenced_before_it_has_caught_up(patch: Patch) -> None:
    """A broker serves before it has read that it is registered."""

    async def reached(self: MetadataQuorum, end_offset: int, seconds: float) -> bool:
        return True

    def next_state(broker: Any, session: Any, **known: Any) -> Any:
        return whole(broker, session, **{**known, "offset": session.registered_at})

    whole = patch.set(fencing, "next_state", next_state)
    patch.set(MetadataQuorum, "reached", reached)
