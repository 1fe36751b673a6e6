"""ClusterImage: everything the cluster knows at one offset of the metadata log.

Immutable: a change makes a new image (delta.py) that shares all the rest with the old one, so a reader may
keep an image for as long as it likes and never sees it move. The mappings are plain dicts behind a read-only
type; whoever holds an image must not write to them. Knows nothing of logs, files or who decides what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeVar

from klamm.base.ids import Uuid

Item = TypeVar("Item", int, Uuid)

NO_LEADER = -1


@lru_cache(maxsize=4096)
def shared(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """One tuple for all equal ones: thousands of partitions have the same replicas and directories."""
    return items


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """Directories stand in the order of the replicas. ELR is the set of eligible leaders of KIP-966."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[Uuid, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    # 0 recovered, 1 recovering after an unclean election.
    leader_recovery_state: int = 0

    def directory_of(self, broker_id: int) -> Uuid | None:
        """None where the metadata knows no directories."""
        return self.directories[self.replicas.index(broker_id)] if self.directories else None


@dataclass(frozen=True, slots=True)
class TopicImage:
    """Partitions are numbered from 0 without gaps, so their place in the tuple is their number."""

    name: str
    topic_id: Uuid
    partitions: tuple[PartitionImage, ...] = ()

    def partition(self, index: int) -> PartitionImage | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Endpoint(NamedTuple):
    """A listener as it is made known to others. Protocol is Kafka's number: 0 PLAINTEXT, 1 SSL, 2, 3 SASL."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


class VersionRange(NamedTuple):
    """The levels of a feature that a node can work with."""

    lowest: int
    highest: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.lowest <= level <= self.highest

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker. Its epoch is the offset of the record that registered it."""

    broker_id: int
    epoch: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, VersionRange] = field(default_factory=dict)
    rack: str | None = None
    is_fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned_directories: tuple[Uuid, ...] = ()

    @property
    def is_active(self) -> bool:
        """May lead, and may be in an ISR."""
        return not (self.is_fenced or self.in_controlled_shutdown)

    @property
    def is_cordoned(self) -> bool:
        """None of its directories takes new replicas (KIP-1066)."""
        cordoned = self.cordoned_directories
        return bool(cordoned) and all(each in cordoned for each in self.directories)

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((point for point in self.endpoints if point.name == listener), None)


@dataclass(frozen=True, slots=True)
class ControllerImage:
    controller_id: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, VersionRange] = field(default_factory=dict)
    zk_migration_ready: bool = False


class ConfigKey(NamedTuple):
    """Whose configs: Kafka's number of the resource type and its name; "" is the cluster's default."""

    resource_type: int
    resource_name: str


@dataclass(frozen=True, slots=True)
class AclImage:
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class ScramKey(NamedTuple):
    mechanism: int
    user: str


@dataclass(frozen=True, slots=True)
class ScramImage:
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class DelegationTokenImage:
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


class QuotaPart(NamedTuple):
    """One part of a quota's entity, such as ("user", "ann"); the name None is the default of its type."""

    entity_type: str
    entity_name: str | None


QuotaEntity = tuple[QuotaPart, ...]


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """`offset` and `epoch` are those of the last record in the image, `timestamp` is its batch's."""

    cluster_id: str = ""
    offset: int = -1
    epoch: int = 0
    timestamp: int = 0
    topics_by_name: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[Uuid, TopicImage] = field(default_factory=dict)
    # For each name with "_" for "." the topics that share it: their metric names would collide.
    topics_by_collision: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    controllers: Mapping[int, ControllerImage] = field(default_factory=dict)
    configs: Mapping[ConfigKey, Mapping[str, str]] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    next_producer_id: int = 0
    acls: Mapping[Uuid, AclImage] = field(default_factory=dict)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    scram: Mapping[ScramKey, ScramImage] = field(default_factory=dict)
    delegation_tokens: Mapping[str, DelegationTokenImage] = field(default_factory=dict)
    # Kept only so that a log which passed through ZooKeeper's migration is not changed by a snapshot.
    zk_migration_state: int = 0

    @property
    def metadata_version(self) -> int:
        """The level that says which records may be written; 0 while the log has no such record."""
        return self.features.get("metadata.version", 0)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        found = self.topics_by_name.get(topic)
        return found.partition(index) if found else None

    def config(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """What was set for one resource; empty when nothing was."""
        return self.configs.get(ConfigKey(resource_type, resource_name), _NOTHING)


_NOTHING: Mapping[str, str] = {}


def may_collide(topic: str) -> bool:
    return "." in topic or "_" in topic


def collision_name(topic: str) -> str:
    """Metric names turn "." into "_", so topics that differ only there would share their metrics."""
    return topic.replace(".", "_")
