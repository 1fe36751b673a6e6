"""What a consumer can be told. The defaults are those of Java's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from klamm.client.backoff import Backoff
from klamm.client.cluster import ClusterSettings
from klamm.client.consumer.assignors.assignor import Assignor
from klamm.client.consumer.assignors.range import RangeAssignor
from klamm.client.consumer.assignors.sticky import CooperativeStickyAssignor
from klamm.client.security import Security

# Where to begin without a usable offset: a duration means that long ago.
OffsetReset: TypeAlias = Literal["earliest", "latest", "none"] | timedelta


def _default_assignors() -> Sequence[Assignor]:
    return (RangeAssignor(), CooperativeStickyAssignor())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    client_id: str = "klamm-consumer"
    group_id: str | None = None
    group_instance_id: str | None = None
    # classic: members balance the group among themselves; consumer: the broker does (KIP-848).
    group_protocol: Literal["classic", "consumer"] = "classic"
    assignors: Sequence[Assignor] = field(default_factory=_default_assignors)
    remote_assignor: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: OffsetReset = "latest"
    read_committed: bool = False
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 50 * 1024 * 1024
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1024 * 1024
    check_crcs: bool = True
    rack: str = ""
    request_timeout_ms: int = 30_000
    api_timeout_ms: int = 60_000
    retry_backoff: Backoff = field(default_factory=Backoff)
    metadata_max_age_ms: int = 300_000
    security: Security = field(default_factory=Security)
    auto_create_topics: bool = True

    @property
    def isolation_level(self) -> int:
        return 1 if self.read_committed else 0

    def for_cluster(self) -> ClusterSettings:
        return ClusterSettings(
            client_id=self.client_id,
            request_timeout_ms=self.request_timeout_ms,
            api_timeout_ms=self.api_timeout_ms,
            retry_backoff=self.retry_backoff,
            metadata_max_age_ms=self.metadata_max_age_ms,
            security=self.security,
            auto_create_topics=self.auto_create_topics,
        )
