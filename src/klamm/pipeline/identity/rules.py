"""When a topic is still the one that a pipeline has read, and what is said when it is not. No Spark, no cluster.

A topic's id is drawn when it is made, so equal ids are the same topic, on whatever cluster. Where a cluster gives no ids
(Kafka before 2.8), a topic that has fewer partitions than before, or one of another cluster, is another topic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


class TopicsChanged(Exception):
    """The positions of a query belong to other topics than those that are there. The text is one sentence."""


@dataclass(frozen=True, slots=True)
class Topic:
    # None where the cluster gives none.
    id: str | None
    partitions: int


@dataclass(frozen=True, slots=True)
class Identity:
    """What a cluster says of itself and of some of its topics."""

    # None where nobody asked.
    cluster: str | None = None
    topics: Mapping[str, Topic] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    topic: str
    before: Topic
    now: Topic


def changes(known: Identity, now: Identity, positioned: Collection[str]) -> list[Change]:
    """The topics that are not what they were, of those that have a position.

    A topic that is gone is no change: it may come back, and what cannot be read Spark says itself.
    """
    is_other_cluster = _differ(known.cluster, now.cluster)
    return [
        Change(name, before, now.topics[name])
        for name, before in sorted(known.topics.items())
        if name in positioned
        and name in now.topics
        and _is_another(before, now.topics[name], is_other_cluster=is_other_cluster)
    ]


def is_plainly_the_same(known: Identity, now: Identity) -> bool:
    """Whether the topics' ids alone say that nothing changed: all are there, and each is what it was."""
    return all(
        name in now.topics and before.id is not None and now.topics[name].id == before.id
        for name, before in known.topics.items()
    )


def _is_another(before: Topic, now: Topic, *, is_other_cluster: bool) -> bool:
    if before.id is not None and now.id is not None:
        return before.id != now.id
    return is_other_cluster or now.partitions < before.partitions


def _differ(before: str | None, now: str | None) -> bool:
    return before is not None and now is not None and before != now


def learned(known: Identity, now: Identity) -> Identity:
    """What to keep from now on: what is there now, and what is known of topics that are gone at the moment."""
    cluster = known.cluster if now.cluster is None else now.cluster
    return Identity(cluster, {**known.topics, **now.topics})


def only(known: Identity, positioned: Collection[str]) -> Identity:
    """Without the topics that have no position: they are begun anew, whatever they were."""
    kept = {name: topic for name, topic in known.topics.items() if name in positioned}
    return replace(known, topics=kept)


def sentence(
    found: Collection[Change], known: Identity, now: Identity, *, pipeline: str, file: str | None
) -> str:
    """What changed, and the two ways on."""
    names = ", ".join(change.topic for change in found)
    if _differ(known.cluster, now.cluster):
        what = (
            f"the cluster is another one than the pipeline has read (its id was {known.cluster}, now it is "
            f"{now.cluster}), and its {_topics(found)} {names} {_are(found)} not what was read"
        )
    else:
        what = (
            f"{_topics(found)} {names} {_were(found)} deleted and made again since the pipeline has read "
            f"{'it' if len(found) == 1 else 'them'} ({_signs(next(iter(found)))})"
        )
    return (
        f"{what}, so the offsets in the checkpoint mean other records: `klamm pipeline replay {file or 'FILE'} --from "
        f"earliest --execute` reads what is there now from its beginning, `klamm pipeline accept {pipeline}` shows what "
        "would be left out by going on at the old offsets, and does so with --execute"
    )


def _signs(change: Change) -> str:
    before, now = change.before, change.now
    if before.id is not None and now.id is not None:
        return f"its id was {before.id}, now it is {now.id}"
    return f"it had {before.partitions} partitions, now it has {now.partitions}"


def _topics(found: Collection[Change]) -> str:
    return "topic" if len(found) == 1 else "topics"


def _were(found: Collection[Change]) -> str:
    return "was" if len(found) == 1 else "were"


def _are(found: Collection[Change]) -> str:
    return "is" if len(found) == 1 else "are"


def to_plain(identity: Identity) -> dict[str, Any]:
    topics = {
        name: {"id": topic.id, "partitions": topic.partitions}
        for name, topic in sorted(identity.topics.items())
    }
    return {"cluster": identity.cluster, "topics": topics}


def from_plain(facts: Mapping[str, Any]) -> Identity:
    """Raises KeyError or TypeError if they are not what `to_plain` gives."""
    topics = {
        name: Topic(each["id"], int(each["partitions"])) for name, each in facts["topics"].items()
    }
    return Identity(facts["cluster"], topics)
