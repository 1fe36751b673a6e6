"""Draft: an image in the making, and Delta: what a published one changed.

Copy on write: a map of the image is copied when its first entry changes and shared otherwise, so a request
that creates a hundred topics copies the map of topics once. Each kind of record has one method; the records
are the only way an image ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from klamm.base.ids import ZERO_UUID, TopicPartition, Uuid
from klamm.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfigKey,
    PartitionImage,
    TopicImage,
    collision_name,
    may_collide,
    shared,
)

K = TypeVar("K")
V = TypeVar("V")

TOPIC_RESOURCE = 2
# What a replica's directory is called in records that are older than KIP-858.
MIGRATING_DIRECTORY = Uuid(bytes(15) + b"\x02")


class ReplayError(Exception):
    """The log holds a record that cannot follow from those before it. Going on would invent a cluster."""


@dataclass(frozen=True, slots=True)
class TopicDelta:
    """One topic, by its id: before is None when it is new, after is None when it is gone."""

    before: TopicImage | None
    after: TopicImage | None
    # The partitions that are new or differ; all of them for a new topic, none for a deleted one.
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """What differs between two images. Topics are keyed by id: a name may be deleted and made anew at once."""

    topics: Mapping[Uuid, TopicDelta] = field(default_factory=dict)
    changed_configs: frozenset[ConfigKey] = frozenset()
    changed_brokers: frozenset[int] = frozenset()
    # Features, controllers, producer ids, quotas, ACLs, credentials and tokens are small: replaced as a whole.
    others: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.topics or self.changed_configs or self.changed_brokers or self.others)

    @property
    def changed_topics(self) -> list[TopicImage]:
        """Those that are new or differ, as they are now."""
        return [each.after for each in self.topics.values() if each.after]

    @property
    def created_topics(self) -> list[TopicImage]:
        changes = self.topics.values()
        return [each.after for each in changes if each.after and each.before is None]

    @property
    def deleted_topics(self) -> list[TopicImage]:
        changes = self.topics.values()
        return [each.before for each in changes if each.before and each.after is None]

    def changed_partitions(self) -> Iterable[tuple[TopicPartition, TopicImage, PartitionImage]]:
        """Each partition that is new or differs, with its topic and what it is now."""
        for change in self.topics.values():
            if topic := change.after:
                for index in change.partitions:
                    yield TopicPartition(topic.name, index), topic, topic.partitions[index]


class Copied(Generic[K, V]):
    """A map of the image, copied at the first write."""

    __slots__ = ("_before", "_copy")

    def __init__(self, before: Mapping[K, V]) -> None:
        self._before = before
        self._copy: dict[K, V] | None = None

    @property
    def is_changed(self) -> bool:
        return self._copy is not None

    def read(self) -> Mapping[K, V]:
        return self._before if self._copy is None else self._copy

    def write(self) -> dict[K, V]:
        if self._copy is None:
            self._copy = dict(self._before)
        return self._copy

    def drop(self, key: K) -> None:
        """Dropping what is not there changes nothing."""
        if key in self.read():
            del self.write()[key]


class TopicDraft:
    """A topic whose partitions are being replayed: they may come in any order."""

    __slots__ = ("before", "changed", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: Uuid, before: TopicImage | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.before = before
        self.partitions: dict[int, PartitionImage] = (
            dict(enumerate(before.partitions)) if before else {}
        )
        self.changed: set[int] = set()

    def put(self, index: int, partition: PartitionImage) -> None:
        self.partitions[index] = partition
        self.changed.add(index)

    def image(self) -> TopicImage:
        count = len(self.partitions)
        if any(index not in self.partitions for index in range(count)):
            raise ReplayError(f"the partitions of {self.name} are not numbered from 0 without gaps")
        return TopicImage(
            self.name, self.topic_id, tuple(self.partitions[index] for index in range(count))
        )


class Draft:
    """The image that follows from `before` and the records replayed since; publish() makes it one."""

    __slots__ = (
        "_deleted",
        "_topics",
        "acls",
        "before",
        "brokers",
        "changed_brokers",
        "changed_configs",
        "client_quotas",
        "configs",
        "controllers",
        "delegation_tokens",
        "features",
        "next_producer_id",
        "scram",
        "zk_migration_state",
    )

    def __init__(self, before: ClusterImage) -> None:
        self.before = before
        self._topics: dict[Uuid, TopicDraft] = {}
        self._deleted: dict[Uuid, TopicImage] = {}
        self.brokers = Copied(before.brokers)
        self.changed_brokers: set[int] = set()
        self.controllers = Copied(before.controllers)
        self.configs = Copied(before.configs)
        self.changed_configs: set[ConfigKey] = set()
        self.features = Copied(before.features)
        self.acls = Copied(before.acls)
        self.client_quotas = Copied(before.client_quotas)
        self.scram = Copied(before.scram)
        self.delegation_tokens = Copied(before.delegation_tokens)
        self.next_producer_id = before.next_producer_id
        self.zk_migration_state = before.zk_migration_state

    # Topics

    def create_topic(self, name: str, topic_id: Uuid) -> None:
        if topic_id in self._topics or topic_id in self.before.topics_by_id:
            raise ReplayError(f"topic id {topic_id} is given twice")
        self._topics[topic_id] = TopicDraft(name, topic_id, None)

    def topic(self, topic_id: Uuid) -> TopicDraft:
        draft = self._topics.get(topic_id)
        if draft is None:
            before = self.before.topics_by_id.get(topic_id)
            if before is None or topic_id in self._deleted:
                raise ReplayError(f"a record names topic id {topic_id}, which does not exist")
            draft = self._topics[topic_id] = TopicDraft(before.name, topic_id, before)
        return draft

    def remove_topic(self, topic_id: Uuid) -> None:
        draft = self.topic(topic_id)
        del self._topics[topic_id]
        if draft.before is not None:
            self._deleted[topic_id] = draft.before
        key = ConfigKey(TOPIC_RESOURCE, draft.name)
        if key in self.configs.read():
            self.configs.drop(key)
            self.changed_configs.add(key)

    def topics_with_elr(self, name: str) -> list[Uuid]:
        """Topics of this name, or of any if it is empty, that have eligible leaders outside an ISR."""
        found = [
            topic_id
            for topic_id, draft in self._topics.items()
            if name in ("", draft.name) and _has_elr(draft.partitions.values())
        ]
        for topic_id, topic in self.before.topics_by_id.items():
            is_fresh = topic_id not in self._topics and topic_id not in self._deleted
            if is_fresh and name in ("", topic.name) and _has_elr(topic.partitions):
                found.append(topic_id)
        return found

    def change_partition(
        self, topic_id: Uuid, index: int, change: Callable[[PartitionImage], PartitionImage]
    ) -> None:
        topic = self.topic(topic_id)
        before = topic.partitions.get(index)
        if before is None:
            raise ReplayError(f"a record changes {topic.name}-{index}, which does not exist")
        topic.put(index, change(before))

    # Brokers and configs

    def put_broker(self, broker: BrokerImage) -> None:
        self.brokers.write()[broker.broker_id] = broker
        self.changed_brokers.add(broker.broker_id)

    def remove_broker(self, broker_id: int, epoch: int) -> None:
        self.known_broker(broker_id, epoch)
        self.brokers.drop(broker_id)
        self.changed_brokers.add(broker_id)

    def known_broker(self, broker_id: int, epoch: int) -> BrokerImage:
        broker = self.brokers.read().get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise ReplayError(f"a record names broker {broker_id} of epoch {epoch}, unknown")
        return broker

    def set_config(self, key: ConfigKey, name: str, value: str | None) -> None:
        configs = dict(self.configs.read().get(key, {}))
        if value is None:
            configs.pop(name, None)
        else:
            configs[name] = value
        if configs:
            self.configs.write()[key] = configs
        else:
            self.configs.drop(key)
        self.changed_configs.add(key)

    # Publishing

    def publish(self, *, offset: int, epoch: int, timestamp: int) -> tuple[ClusterImage, Delta]:
        before = self.before
        if not self._is_changed():
            return replace(before, offset=offset, epoch=epoch, timestamp=timestamp), _NOTHING
        topics = self._topic_deltas()
        by_name, by_id, by_collision = _merge_topics(before, topics)
        image = ClusterImage(
            cluster_id=before.cluster_id,
            offset=offset,
            epoch=epoch,
            timestamp=timestamp,
            topics_by_name=by_name,
            topics_by_id=by_id,
            topics_by_collision=by_collision,
            brokers=self.brokers.read(),
            controllers=self.controllers.read(),
            configs=self.configs.read(),
            features=self.features.read(),
            next_producer_id=self.next_producer_id,
            acls=self.acls.read(),
            client_quotas=self.client_quotas.read(),
            scram=self.scram.read(),
            delegation_tokens=self.delegation_tokens.read(),
            zk_migration_state=self.zk_migration_state,
        )
        delta = Delta(
            topics=topics,
            changed_configs=frozenset(self.changed_configs),
            changed_brokers=frozenset(self.changed_brokers),
            others=frozenset(self._changed_others()),
        )
        return image, delta

    def _is_changed(self) -> bool:
        return bool(
            self._topics
            or self._deleted
            or self.changed_configs
            or self.changed_brokers
            or self._changed_others()
        )

    def _changed_others(self) -> list[str]:
        maps: dict[str, bool] = {
            "controllers": self.controllers.is_changed,
            "features": self.features.is_changed,
            "acls": self.acls.is_changed,
            "client_quotas": self.client_quotas.is_changed,
            "scram": self.scram.is_changed,
            "delegation_tokens": self.delegation_tokens.is_changed,
            "next_producer_id": self.next_producer_id != self.before.next_producer_id,
            "zk_migration_state": self.zk_migration_state != self.before.zk_migration_state,
        }
        return [name for name, is_changed in maps.items() if is_changed]

    def _topic_deltas(self) -> dict[Uuid, TopicDelta]:
        deltas = {each: TopicDelta(topic, None) for each, topic in self._deleted.items()}
        for topic_id, draft in self._topics.items():
            changed = tuple(sorted(draft.changed))
            deltas[topic_id] = TopicDelta(draft.before, draft.image(), changed)
        return deltas


_NOTHING = Delta()


def _has_elr(partitions: Iterable[PartitionImage]) -> bool:
    return any(each.elr or each.last_known_elr for each in partitions)


_Names = Mapping[str, TopicImage]
_Ids = Mapping[Uuid, TopicImage]
_Collisions = Mapping[str, tuple[str, ...]]


def _merge_topics(
    before: ClusterImage, deltas: Mapping[Uuid, TopicDelta]
) -> tuple[_Names, _Ids, _Collisions]:
    if not deltas:
        return before.topics_by_name, before.topics_by_id, before.topics_by_collision
    names, ids = dict(before.topics_by_name), dict(before.topics_by_id)
    collisions = Copied(before.topics_by_collision)
    # Deletions first: the name may be taken again in the same step.
    for topic_id, delta in deltas.items():
        if delta.before is not None and delta.after is None:
            del ids[topic_id]
            del names[delta.before.name]
            if may_collide(delta.before.name):
                _forget_collision(collisions, delta.before.name)
    for topic_id, delta in deltas.items():
        if delta.after is None:
            continue
        name = delta.after.name
        if delta.before is None:
            if name in names:
                raise ReplayError(f"topic {name} is created twice")
            if may_collide(name):
                _note_collision(collisions, name)
        names[name] = ids[topic_id] = delta.after
    return names, ids, collisions.read()


def _note_collision(collisions: Copied[str, tuple[str, ...]], name: str) -> None:
    key = collision_name(name)
    collisions.write()[key] = (*collisions.read().get(key, ()), name)


def _forget_collision(collisions: Copied[str, tuple[str, ...]], name: str) -> None:
    key = collision_name(name)
    left = tuple(each for each in collisions.read().get(key, ()) if each != name)
    if left:
        collisions.write()[key] = left
    else:
        collisions.drop(key)


def directories_for(partition: PartitionImage, replicas: tuple[int, ...]) -> tuple[Uuid, ...]:
    """Where each of these replicas lives: known for those that stay, unassigned for new ones.

    Where no record speaks of directories yet, new ones are as unknown as the others: a snapshot would say no more.
    """
    known = dict(zip(partition.replicas, partition.directories, strict=False))
    is_old = all(each == MIGRATING_DIRECTORY for each in partition.directories)
    new = MIGRATING_DIRECTORY if is_old else ZERO_UUID
    return shared(tuple(known.get(replica, new) for replica in replicas))
