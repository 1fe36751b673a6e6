"""Finds where to begin: at what the group has committed, else where `auto_offset_reset` says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.consumer.commits import fetch_committed
from klamm.client.consumer.settings import ConsumerSettings, OffsetReset
from klamm.client.consumer.state import Assignment
from klamm.client.errors import NoOffset
from klamm.client.list_offsets import EARLIEST, LATEST, list_offsets


class Positions:
    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        assignment: Assignment,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._assignment = assignment

    @property
    def are_wanted(self) -> bool:
        return bool(self._assignment.without_position() or self._assignment.to_reset())

    async def find(self) -> None:
        """One round for all partitions that have no position. A seek or a rebalance meanwhile wins."""
        await self._begin_at_committed()
        await self._reset()

    async def _begin_at_committed(self) -> None:
        wanted = self._assignment.without_position()
        if not wanted:
            return
        group_id = self._settings.group_id
        committed = (
            {} if group_id is None else await fetch_committed(self._cluster, group_id, wanted)
        )
        lost: dict[TopicPartition, int | None] = {}
        for partition in wanted:
            state = self._assignment.get(partition)
            if state is None or state.position is not None or state.reset is not None:
                continue
            found = committed.get(partition)
            if found is not None:
                state.seek(found.offset, found.leader_epoch)
            elif self._settings.auto_offset_reset == "none":
                lost[partition] = None
            else:
                state.reset_to(self._settings.auto_offset_reset)
        if lost:
            raise NoOffset(lost)

    async def _reset(self) -> None:
        wanted = self._assignment.to_reset()
        if not wanted:
            return
        times = {partition: self._time_of(reset) for partition, reset in wanted.items()}
        found = await list_offsets(
            self._cluster, times, isolation_level=self._settings.isolation_level
        )
        # A time after the last record: begin at what comes next.
        late: Mapping[TopicPartition, int] = {p: LATEST for p, at in found.items() if at is None}
        if late:
            found |= await list_offsets(
                self._cluster, late, isolation_level=self._settings.isolation_level
            )
        for partition, at in found.items():
            state = self._assignment.get(partition)
            if state is not None and at is not None and state.reset == wanted[partition]:
                state.seek(at.offset, at.leader_epoch)

    def _time_of(self, reset: OffsetReset) -> int:
        if isinstance(reset, timedelta):
            # Negative numbers are no times but names of points in the log.
            return max(
                0, self._cluster.environment.clock.wall() - reset // timedelta(milliseconds=1)
            )
        return EARLIEST if reset == "earliest" else LATEST
