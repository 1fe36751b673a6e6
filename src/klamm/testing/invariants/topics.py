"""Topics that are deleted and made again under the same name."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import TopicPartition
from klamm.testing.history import Outcome
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


@invariant("M1")
def nothing_of_a_deleted_topic_is_seen_again(evidence: Evidence) -> Iterator[str]:
    """What was acknowledged before the deletion began is gone with it."""
    history = evidence.history
    lives = {}
    for sent in history.acknowledged():
        life = history.life_at(sent.place.topic, sent.ended)
        if life is not None and life.deleted is not None and sent.value is not None:
            lives[sent.value] = life
    for read in history.reads:
        life = lives.get(read.value or b"")
        if life is not None and life.deleted is not None and read.at > life.deleted + _ON_ITS_WAY:
            yield f"{read.reader} read {read.value!r} of {life.name}, deleted at {life.deleted:.3f}"
    for log in evidence.scan.values():
        for _, record in log.records():
            life = lives.get(record.value or b"")
            if life is not None:
                yield f"{log.place}: {record.value!r} is of a topic deleted at {life.deleted:.3f}"


# A reader may hold records that it fetched before.
_ON_ITS_WAY = 60.0


@invariant("M1", "D3")
def a_topic_that_was_made_is_there(evidence: Evidence) -> Iterator[str]:
    """The administrator was told so, and nobody has deleted it."""
    for life in evidence.history.topics:
        if life.deletion_began is None and TopicPartition(life.name, 0) not in evidence.scan:
            yield f"{life.name}, made at {life.created:.3f}, is gone"


@invariant("D3", "R3")
def a_config_that_was_set_was_committed(evidence: Evidence) -> Iterator[str]:
    """Whatever the administrator was told to be done every node has heard of."""
    for setting in evidence.history.settings:
        known = (setting.topic, setting.name, setting.value)
        if setting.outcome is Outcome.DONE and known not in evidence.looks[-1].configs:
            yield f"{setting.name} of {setting.topic} was set to {setting.value}, and never was so"
