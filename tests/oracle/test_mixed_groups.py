"""Consumer groups with members that speak the classic protocol: klamm tells both kinds what Kafka tells them.

Seeded walks as in test_consumer_groups. Ids of classic members are made by the broker, so those members are static: they
are known by their instance ids, by which `range` orders them, too. The group is kept from becoming classic, where a
JoinGroup waits for others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.group import consumer_protocol
from klamm.protocol.compile import encode
from klamm.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from klamm.protocol.messages.sync_group import SyncGroupRequest
from oracle.test_consumer_groups import SETTINGS, TOPICS, Places, Side, Walker, learn, step
from support.brokers import start_kafka, start_klamm
from support.raw_client import RawClient

pytestmark = pytest.mark.oracle

# Never leaves, so the group never has classic members alone.
ANCHOR = "ann"
STEPS = 120
GONE = {"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "ILLEGAL_GENERATION"}


@dataclass
class Old:
    """A classic member, which each broker knows by an id of its own."""

    instance: str
    ids: list[str] = field(default_factory=lambda: ["", ""])
    generation: int = -1
    owned: Places = field(default_factory=dict)
    must_sync: bool = False
    protocols: tuple[str, ...] = ("range", "roundrobin")


@dataclass
class Both:
    sides: tuple[Side, Side]
    group: str
    # The names by which the members' ids are compared.
    names: list[dict[str, str]] = field(default_factory=lambda: [{}, {}])

    def join(self, old: Old, chance: random.Random) -> dict[str, Any]:
        topics = chance.sample(list(TOPICS), chance.randint(1, 3))
        metadata = b"\0\1" + encode(_subscription(topics, old.owned), 1)
        protocol_type = "connect" if chance.randrange(12) == 0 else "consumer"
        answers = []
        for number, side in enumerate(self.sides):
            request = JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=60_000,
                member_id=old.ids[number],
                group_instance_id=old.instance,
                protocol_type=protocol_type,
                protocols=[
                    JoinGroupRequestProtocol(name=each, metadata=metadata) for each in old.protocols
                ],
            )
            answer = side.client.ask("join_group", 9, request)
            if answer.error_code == ErrorCode.NONE:
                old.ids[number] = answer.member_id
                self.names[number][answer.member_id] = old.instance
            answers.append(
                {
                    "error": ErrorCode(answer.error_code).name,
                    "generation": answer.generation_id,
                    "protocol": (answer.protocol_type, answer.protocol_name),
                    "leader": answer.leader,
                    "skips": answer.skip_assignment,
                    "members": len(answer.members),
                    "member": self.names[number].get(answer.member_id, ""),
                }
            )
        return self.same(answers)

    def sync(self, old: Old, generation: int) -> dict[str, Any]:
        answers = []
        for number, side in enumerate(self.sides):
            request = SyncGroupRequest(
                group_id=self.group,
                generation_id=generation,
                member_id=old.ids[number],
                group_instance_id=old.instance,
                protocol_type="consumer",
                protocol_name=old.protocols[0],
            )
            answer = side.client.ask("sync_group", 5, request)
            given = consumer_protocol.read_assignment(bytes(answer.assignment))
            answers.append(
                {
                    "error": ErrorCode(answer.error_code).name,
                    "protocol": (answer.protocol_type, answer.protocol_name),
                    "assignment": {
                        each.topic: sorted(each.partitions)
                        for each in sorted(given.assigned_partitions, key=lambda t: t.topic)
                    },
                }
            )
        return self.same(answers)

    def heartbeat(self, old: Old, generation: int) -> dict[str, Any]:
        answers = []
        for number, side in enumerate(self.sides):
            request = HeartbeatRequest(
                group_id=self.group,
                generation_id=generation,
                member_id=old.ids[number],
                group_instance_id=old.instance,
            )
            answer = side.client.ask("heartbeat", 4, request)
            answers.append({"error": ErrorCode(answer.error_code).name})
        return self.same(answers)

    def leave(self, old: Old) -> dict[str, Any]:
        answers = []
        for number, side in enumerate(self.sides):
            who = MemberIdentity(member_id=old.ids[number], group_instance_id=old.instance)
            request = LeaveGroupRequest(group_id=self.group, members=[who])
            answer = side.client.ask("leave_group", 5, request)
            (result,) = answer.members
            answers.append({"error": ErrorCode(result.error_code).name})
        return self.same(answers)

    def described(self) -> None:
        groups = []
        for number, side in enumerate(self.sides):
            found = side.described(self.group)
            found["members"] = sorted(
                (self.names[number].get(member_id, member_id), *rest)
                for member_id, *rest in found["members"]
            )
            groups.append(found)
        self.same(groups)

    def same(self, answers: list[dict[str, Any]]) -> dict[str, Any]:
        theirs, ours = answers
        assert ours == theirs
        return theirs


def _subscription(topics: list[str], owned: Places) -> ConsumerProtocolSubscription:
    return ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=numbers)
            for name, numbers in owned.items()
        ],
    )


def move(both: Both, old: Old, chance: random.Random) -> None:
    """What a classic member does next, seldom what it should not."""
    kind = chance.randrange(20)
    wrong = chance.choice([-1, 1]) if kind == 0 else 0
    if old.must_sync and kind != 1:
        answer = both.sync(old, old.generation + wrong)
        if answer["error"] == "NONE":
            old.owned, old.must_sync = answer["assignment"], False
        elif answer["error"] == "REBALANCE_IN_PROGRESS":
            # It will hear the same from its next heartbeat, and join.
            old.must_sync = False
    elif old.generation < 0 or kind in (2, 3):
        answer = both.join(old, chance)
        if answer["error"] == "NONE":
            old.generation, old.must_sync = answer["generation"], True
    elif kind == 4:
        answer = both.leave(old)
        old.ids, old.generation, old.owned = ["", ""], -1, {}
        old.must_sync = False
        return
    else:
        answer = both.heartbeat(old, old.generation + wrong)
        if answer["error"] == "REBALANCE_IN_PROGRESS":
            answer = both.join(old, chance)
            if answer["error"] == "NONE":
                old.generation, old.must_sync = answer["generation"], True
    if answer["error"] in GONE and not wrong:
        old.ids, old.generation, old.owned, old.must_sync = ["", ""], -1, {}, False


@pytest.fixture(scope="module")
def mixed_sides() -> Iterator[tuple[Side, Side]]:
    with ExitStack() as opened:
        pair = []
        settings = {**SETTINGS, "group.consumer.migration.policy": "upgrade"}
        for start in (start_kafka, start_klamm):
            broker = start(settings=settings)
            opened.callback(broker.stop)
            pair.append(Side(opened.enter_context(RawClient(broker.address))))
            pair[-1].prepare()
        yield pair[0], pair[1]


@pytest.mark.parametrize("seed", range(8))
def test_members_of_both_protocols_hear_what_kafka_tells_them(
    mixed_sides: tuple[Side, Side], seed: int
) -> None:
    chance = random.Random(seed)
    both = Both(mixed_sides, f"mixed-{seed}-{uuid4().hex[:8]}")
    recent = [Walker(ANCHOR), Walker("bob")]
    old = [Old("c1"), Old("c2")]
    for number in range(STEPS):
        if number and chance.randrange(2):
            move(both, chance.choice(old), chance)
        else:
            walker = recent[0] if not number else chance.choice(recent)
            owned, facts = step(chance, walker, both.group)
            if walker.name == ANCHOR and facts["member_epoch"] < 0:
                continue
            answers = [side.heartbeat(owned, **facts) for side in both.sides]
            learn(walker, facts, both.same(answers))
        both.described()
