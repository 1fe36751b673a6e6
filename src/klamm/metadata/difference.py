"""What differs between two images that do not follow from each other record by record, as when a snapshot is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from klamm.base.ids import Uuid
from klamm.metadata.delta import Delta, TopicDelta
from klamm.metadata.image import ClusterImage, TopicImage

K = TypeVar("K")
_OTHERS = (
    "controllers",
    "features",
    "acls",
    "client_quotas",
    "scram",
    "delegation_tokens",
    "next_producer_id",
    "zk_migration_state",
)


def between(before: ClusterImage, after: ClusterImage) -> Delta:
    return Delta(
        topics=_topics(before.topics_by_id, after.topics_by_id),
        changed_configs=frozenset(_changed(before.configs, after.configs)),
        changed_brokers=frozenset(_changed(before.brokers, after.brokers)),
        others=frozenset(name for name in _OTHERS if getattr(before, name) != getattr(after, name)),
    )


def _topics(
    before: Mapping[Uuid, TopicImage], after: Mapping[Uuid, TopicImage]
) -> dict[Uuid, TopicDelta]:
    """Deleted ones first: the name of one may have been taken again."""
    found = {each: TopicDelta(topic, None) for each, topic in before.items() if each not in after}
    for topic_id, topic in after.items():
        old = before.get(topic_id)
        if topic != old:
            known = old.partitions if old is not None else ()
            changed = tuple(
                index
                for index, partition in enumerate(topic.partitions)
                if index >= len(known) or known[index] != partition
            )
            found[topic_id] = TopicDelta(old, topic, changed)
    return found


def _changed(before: Mapping[K, object], after: Mapping[K, object]) -> list[K]:
    keys = [*before, *(each for each in after if each not in before)]
    return [each for each in keys if before.get(each) != after.get(each)]
