"""What a producer can be told. The defaults are those of Java's."""

from __future__ import annotations

from dataclasses import dataclass, field

from klamm.client.backoff import Backoff
from klamm.client.cluster import ClusterSettings
from klamm.client.security import Security
from klamm.protocol.records.batch import Codec

ALL = -1
# A broker remembers this many batches of a producer: with more on their way it could not tell a repetition.
_MOST_IN_FLIGHT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    client_id: str = "klamm-producer"
    # 0: no answer is waited for; 1: the leader has it; ALL: all in-sync replicas have it.
    acks: int = ALL
    # None: as `acks` allows, for it takes all replicas.
    idempotence: bool | None = None
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    batch_bytes: int = 16_384
    linger_ms: int = 5
    buffer_bytes: int = 32 * 1024 * 1024
    max_request_bytes: int = 1024 * 1024
    max_in_flight: int = _MOST_IN_FLIGHT
    compression: Codec = Codec.NONE
    compression_level: int | None = None
    # From `send` to the answer, with all tries between.
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    # How long `send` waits for metadata and room, and the calls of transactions for their coordinator.
    max_block_ms: int = 60_000
    retry_backoff: Backoff = field(default_factory=Backoff)
    metadata_max_age_ms: int = 300_000
    security: Security = field(default_factory=Security)

    def __post_init__(self) -> None:
        if self.acks not in (ALL, 0, 1):
            raise ValueError(f"acks={self.acks}: only 0, 1 and ALL can be asked for")
        if self.max_in_flight < 1:
            raise ValueError("max_in_flight must be 1 or more")
        if self.is_idempotent and self.acks != ALL:
            raise ValueError("an idempotent producer needs acks=ALL")
        if self.is_idempotent and self.max_in_flight > _MOST_IN_FLIGHT:
            raise ValueError("an idempotent producer has at most 5 requests in flight")
        if self.transactional_id is not None and not self.is_idempotent:
            raise ValueError("a transactional producer is idempotent")
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ValueError("delivery_timeout_ms leaves no time for linger_ms and one request")

    @property
    def is_idempotent(self) -> bool:
        return self.acks == ALL if self.idempotence is None else self.idempotence

    def for_cluster(self) -> ClusterSettings:
        return ClusterSettings(
            client_id=self.client_id,
            request_timeout_ms=self.request_timeout_ms,
            api_timeout_ms=self.max_block_ms,
            retry_backoff=self.retry_backoff,
            metadata_max_age_ms=self.metadata_max_age_ms,
            security=self.security,
            auto_create_topics=True,
        )
