"""What every manager of the controller works with: the newest image, the settings, and chance."""

from __future__ import annotations

from dataclasses import dataclass

from klamm.base.clock import Ms
from klamm.base.settings.broker import Settings
from klamm.controller.chance import Chance
from klamm.metadata.image import ClusterImage


@dataclass(frozen=True, slots=True)
class Context:
    """The image is that of the last record appended, committed or not: decisions build on each other."""

    image: ClusterImage
    settings: Settings
    chance: Chance
    now: Ms

    @property
    def default_partitions(self) -> int:
        return self.settings.topics.num_partitions

    @property
    def default_replication_factor(self) -> int:
        return self.settings.topics.default_replication_factor

    @property
    def is_deletion_enabled(self) -> bool:
        return self.settings.topics.delete_enabled
