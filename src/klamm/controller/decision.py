"""What every manager of the controller is given (Context), and what it answers (Decision)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from klamm.base.chance import Chance
from klamm.base.clock import Now
from klamm.base.settings.broker import Settings
from klamm.base.settings.describe import Layers
from klamm.base.settings.topic import TopicSettings
from klamm.metadata.image import ClusterImage

ReplyT = TypeVar("ReplyT", covariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """The image is that of the last record appended, committed or not: decisions build on each other."""

    image: ClusterImage
    layers: Layers
    topic_defaults: TopicSettings
    chance: Chance
    now: Now
    # A feature that stands in the quorum's own records.
    kraft_version: int

    @property
    def settings(self) -> Settings:
        return self.layers.settings

    @property
    def default_partitions(self) -> int:
        return self.settings.topics.num_partitions

    @property
    def default_replication_factor(self) -> int:
        return self.settings.topics.default_replication_factor

    @property
    def is_deletion_enabled(self) -> bool:
        return self.settings.topics.delete_enabled


@dataclass(frozen=True, slots=True)
class Decision(Generic[ReplyT]):
    """The records are all that changes the cluster; the reply may be sent once they are committed."""

    reply: ReplyT
    records: Sequence[object] = ()
    # The voters are to move into the log, which is the quorum's to do; or only to be asked whether they may.
    raises_kraft_version: bool = False
    validate_only: bool = False
