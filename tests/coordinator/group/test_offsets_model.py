"""Commits, transactions, deletions and restarts in any order, held against a model that keeps everything simple.

The model is a list of all commits ever made, in the order of the log, each with its state. What counts is the last
one that is committed and was not deleted since.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coordinator.group.committing import Where, World
from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

GROUPS = ("g", "h")
WHERE = [(topic, partition) for topic in ("t", "u") for partition in (0, 1)]

groups = st.sampled_from(GROUPS)
places = st.sampled_from(WHERE)
offsets = st.dictionaries(places, st.integers(0, 100), min_size=1)
producers = st.sampled_from((1, 2, 3))


@dataclass
class Made:
    group_id: str
    where: Where
    offset: int
    # None: it counts; else the producer whose transaction is open.
    waits_for: int | None
    is_gone: bool = False


class OffsetsAgainstAModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.made: list[Made] = []
        self.epochs = {1: 0, 2: 0, 3: 0}

    @rule(group_id=groups, committed=offsets)
    def commit(self, group_id: str, committed: dict[Where, int]) -> None:
        codes = self.world.commit(group_id, committed)
        assert set(codes.values()) == {ErrorCode.NONE}
        self.made += [Made(group_id, where, offset, None) for where, offset in committed.items()]

    @rule(group_id=groups, committed=offsets, producer_id=producers)
    def commit_in_transaction(
        self, group_id: str, committed: dict[Where, int], producer_id: int
    ) -> None:
        producer = Producer(producer_id, self.epochs[producer_id])
        self.world.commit_in_transaction(group_id, committed, producer)
        self.made += [
            Made(group_id, where, offset, producer_id) for where, offset in committed.items()
        ]

    @rule(producer_id=producers, is_commit=st.booleans())
    def end(self, producer_id: int, is_commit: bool) -> None:
        self.epochs[producer_id] += 1
        self.world.end(Producer(producer_id, self.epochs[producer_id]), is_commit)
        for each in self.made:
            if each.waits_for == producer_id:
                each.waits_for = None
                each.is_gone |= not is_commit

    @rule(group_id=groups, where=places)
    def delete(self, group_id: str, where: Where) -> None:
        if group_id not in self.world.shard.groups:
            return
        topic, partition = where
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=partition)],
                )
            ],
        )
        self.world.do(self.world.shard.offsets.delete(request, token=1))
        for each in self.made:
            each.is_gone |= (each.group_id, each.where) == (group_id, where)

    @rule(topic=st.sampled_from(("t", "u")))
    def delete_and_create_topic(self, topic: str) -> None:
        kept = {"t": 0, "u": 0}
        self.world.change_topics({name: 0 for name in kept if name != topic})
        self.world.change_topics(kept)
        for each in self.made:
            each.is_gone |= each.where[0] == topic

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @invariant()
    def all_agree(self) -> None:
        for group_id in GROUPS:
            mine = [m for m in self.made if m.group_id == group_id and not m.is_gone]
            committed = {m.where: m.offset for m in mine if m.waits_for is None}
            unstable = {m.where for m in mine if m.waits_for is not None}
            assert self.world.offsets_of(group_id) == committed
            stable = self.world.fetch(group_id, *WHERE, stable=True)
            codes = {where for where, found in stable.items() if found[2]}
            assert codes == unstable


OffsetsAgainstAModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestOffsetsAgainstAModel = OffsetsAgainstAModel.TestCase
