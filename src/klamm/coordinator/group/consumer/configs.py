"""The settings of one group: what was set for it with the GROUP resource, within the broker's bounds; else the broker's."""

from __future__ import annotations

from klamm.base.settings.group import GroupSettings
from klamm.metadata.image import ClusterImage
from klamm.metadata.resource_type import ResourceType


class GroupConfigs:
    __slots__ = ("_group_id", "_image", "_settings")

    def __init__(self, group_id: str, image: ClusterImage, settings: GroupSettings) -> None:
        self._group_id = group_id
        self._image = image
        self._settings = settings

    @property
    def session_timeout_ms(self) -> int:
        ours = self._settings
        return self._read(
            "consumer.session.timeout.ms",
            ours.group_consumer_session_timeout_ms,
            ours.group_consumer_min_session_timeout_ms,
            ours.group_consumer_max_session_timeout_ms,
        )

    @property
    def heartbeat_interval_ms(self) -> int:
        ours = self._settings
        return self._read(
            "consumer.heartbeat.interval.ms",
            ours.group_consumer_heartbeat_interval_ms,
            ours.group_consumer_min_heartbeat_interval_ms,
            ours.group_consumer_max_heartbeat_interval_ms,
        )

    @property
    def assignment_interval_ms(self) -> int:
        ours = self._settings
        return self._read(
            "consumer.assignment.interval.ms",
            ours.group_consumer_assignment_interval_ms,
            ours.group_consumer_min_assignment_interval_ms,
            ours.group_consumer_max_assignment_interval_ms,
        )

    def _read(self, name: str, default: int, low: int, high: int) -> int:
        """The bounds may have been narrowed since the override was set."""
        override = self._image.config(ResourceType.GROUP, self._group_id).get(name)
        if override is None:
            return default
        return min(max(int(override), low), high)
