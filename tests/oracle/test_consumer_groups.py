"""Members of consumer groups do the same things, right and wrong, to klamm and to a real Kafka, and hear the same.

Seeded walks: every answer is compared whole, and so is the group as ConsumerGroupDescribe shows it. The assignor is
`range`, whose outcome is fixed by the members' names; between equals `uniform` may choose.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
)
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.brokers import KAFKA_CONFIG, start_kafka, start_klamm
from support.patience import eventually
from support.raw_client import RawClient

pytestmark = pytest.mark.oracle

TOPICS = {"t": 3, "u": 2, "v": 1}
SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.max.size": 4,
}
MEMBERS = ("ann", "bob", "cid", "dan", "eve")
INSTANCES = {"dan": "i1", "eve": "i1"}
STEPS = 120

Places = dict[str, list[int]]


@dataclass
class Side:
    """One of the two brokers. Topics have ids of its own there."""

    client: RawClient
    ids: dict[str, Uuid] = field(default_factory=dict)

    def prepare(self) -> None:
        wanted = [
            CreatableTopic(name=name, num_partitions=n, replication_factor=1)
            for name, n in TOPICS.items()
        ]
        self.client.ask("create_topics", 7, CreateTopicsRequest(topics=wanted, timeout_ms=10_000))

        def look() -> None:
            asked = [MetadataRequestTopic(name=name) for name in TOPICS]
            answer = self.client.ask("metadata", 12, MetadataRequest(topics=asked))
            self.ids = {topic.name: topic.topic_id for topic in answer.topics}
            assert all(topic.error_code == ErrorCode.NONE for topic in answer.topics)
            assert [len(t.partitions) for t in answer.topics] == list(TOPICS.values())

        eventually(look)
        eventually(self._find_coordinator)
        eventually(lambda: self._is_loaded("any"))

    def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["any"])
        (found,) = self.client.ask("find_coordinator", 4, request).coordinators
        assert found.error_code == ErrorCode.NONE

    def _is_loaded(self, group: str) -> None:
        (described,) = self.describe(group).groups
        assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND

    def describe(self, group: str) -> Any:
        request = ConsumerGroupDescribeRequest(group_ids=[group])
        return self.client.ask("consumer_group_describe", 1, request)

    def heartbeat(self, owned: Places | None, **facts: Any) -> dict[str, Any]:
        claimed = None
        if owned is not None:
            claimed = [
                TopicPartitions(topic_id=self.ids[name], partitions=numbers)
                for name, numbers in owned.items()
            ]
        request = ConsumerGroupHeartbeatRequest(topic_partitions=claimed, **facts)
        answer = self.client.ask("consumer_group_heartbeat", 1, request)
        given = None if answer.assignment is None else answer.assignment.topic_partitions
        return {
            "error": ErrorCode(answer.error_code).name,
            "message": answer.error_message,
            "member": answer.member_id,
            "epoch": answer.member_epoch,
            "interval": answer.heartbeat_interval_ms,
            "assignment": None if given is None else self.places(given),
        }

    def places(self, topics: Any) -> Places:
        names = {topic_id: name for name, topic_id in self.ids.items()}
        return dict(sorted((names[t.topic_id], sorted(t.partitions)) for t in topics))

    def described(self, group: str) -> dict[str, Any]:
        (found,) = self.describe(group).groups
        assert isinstance(found, DescribedGroup)
        return {
            "error": ErrorCode(found.error_code).name,
            "message": found.error_message,
            "state": found.group_state,
            "epochs": (found.group_epoch, found.assignment_epoch),
            "assignor": found.assignor_name,
            "members": sorted(
                (
                    each.member_id,
                    each.instance_id or "",
                    each.rack_id or "",
                    each.member_epoch,
                    each.client_id,
                    each.client_host,
                    sorted(each.subscribed_topic_names),
                    each.subscribed_topic_regex,
                    str(self.places(each.assignment.topic_partitions)),
                    str(self.places(each.target_assignment.topic_partitions)),
                    each.member_type,
                )
                for each in found.members
            ),
        }


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    with ExitStack() as opened:
        pair = []
        for start in (start_kafka, start_klamm):
            broker = start(settings=SETTINGS)
            opened.callback(broker.stop)
            pair.append(Side(opened.enter_context(RawClient(broker.address))))
            pair[-1].prepare()
        yield pair[0], pair[1]


@dataclass
class Walker:
    """A member as it sees itself."""

    name: str
    epoch: int = 0
    owned: Places = field(default_factory=dict)


def step(chance: random.Random, walker: Walker, group: str) -> tuple[Places | None, dict[str, Any]]:
    """Something that the member may do next, seldom what it should not."""
    facts: dict[str, Any] = {
        "group_id": group,
        "member_id": walker.name,
        "member_epoch": walker.epoch,
        "instance_id": INSTANCES.get(walker.name),
    }
    owned: Places | None = walker.owned
    kind = chance.randrange(20)
    if walker.epoch == 0 or kind == 0:
        # Kafka takes a newcomer that subscribes to nothing for one that subscribes to what the others do.
        some = chance.sample(list(TOPICS), chance.randint(1, len(TOPICS)))
        facts |= {
            "member_epoch": 0,
            "subscribed_topic_names": some,
            "rebalance_timeout_ms": 60_000,
            "server_assignor": "range",
            "rack_id": chance.choice([None, "r1"]),
        }
        owned = {}
    elif kind == 1:
        facts["subscribed_topic_names"] = chance.sample(list(TOPICS), chance.randint(0, 3))
    elif kind == 2:
        facts["member_epoch"] += chance.choice([-2, -1, 1])
    elif kind == 3:
        facts["member_epoch"] = -1
    elif kind == 4:
        facts["member_epoch"] = -2
    elif kind == 5:
        owned = None
    elif kind == 6:
        facts[chance.choice(["member_id", "group_id", "instance_id", "rack_id"])] = ""
    elif kind == 7:
        facts |= {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000}
    elif kind == 8:
        facts[chance.choice(["server_assignor", "instance_id"])] = "unknown"
    return owned, facts


def learn(walker: Walker, facts: dict[str, Any], answer: dict[str, Any]) -> None:
    if facts["member_id"] != walker.name or facts["group_id"] == "":
        return
    if answer["error"] in ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"):
        walker.epoch, walker.owned = 0, {}
    elif answer["error"] == "NONE":
        walker.epoch = max(answer["epoch"], 0)
        if answer["epoch"] < 0:
            walker.owned = {}
        elif answer["assignment"] is not None:
            walker.owned = answer["assignment"]


@pytest.mark.parametrize("seed", range(12))
def test_members_hear_from_klamm_what_they_hear_from_kafka(
    sides: tuple[Side, Side], seed: int
) -> None:
    chance = random.Random(seed)
    group = f"group-{seed}-{uuid4().hex[:8]}"
    walkers = [Walker(name) for name in MEMBERS]
    for number in range(STEPS):
        walker = chance.choice(walkers)
        owned, facts = step(chance, walker, group)

        theirs, ours = (side.heartbeat(owned, **facts) for side in sides)

        assert ours == theirs, f"step {number}: {facts} with {owned}"
        learn(walker, facts, theirs)
        theirs, ours = (side.described(group) for side in sides)
        assert ours == theirs, f"after step {number}: {facts} with {owned}"


PATTERNS = [
    *(
        "t",
        "t.*",
        "(t|u)+",
        "[a-z]",
        "[[:alpha:]]",
        r"\pL",
        r"\w+\d",
        "(?i)T",
        "(?P<n>t)",
        "t{2,3}",
    ),
    *("(?:t)", "^t$", r"\Qt.\E", "t*?", "", " ", r"\bt", "(?s).", r"\x{74}", "t|"),
    *(
        "(",
        ")",
        "*",
        "t**",
        "[",
        "[z-a]",
        r"\1",
        "(?=t)",
        "(?<!t)",
        "t{1001}",
        "t{3,2}",
        "(?z)",
        "\\",
    ),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_patterns_are_accepted(sides: tuple[Side, Side], pattern: str) -> None:
    group = f"pattern-{uuid4().hex}"
    facts = {"subscribed_topic_regex": pattern, "rebalance_timeout_ms": 60_000, "member_epoch": 0}

    theirs, ours = (side.heartbeat({}, group_id=group, member_id="ann", **facts) for side in sides)

    assert ours["error"] == theirs["error"]


def walk(side: Side, chance: random.Random, walkers: list[Walker], group: str) -> None:
    """As many steps as make a group with a history."""
    for _ in range(STEPS // 2):
        walker = chance.choice(walkers)
        owned, facts = step(chance, walker, group)
        learn(walker, facts, side.heartbeat(owned, **facts))


def test_a_group_goes_on_where_another_kind_of_broker_left_it(tmp_path: Path) -> None:
    """Kafka, klamm and Kafka again, on the same directory."""
    chance = random.Random(7)
    group = "group-that-moves"
    walkers = [Walker(name) for name in MEMBERS[:4]]
    left: dict[str, Any] | None = None
    ids: dict[str, Uuid] = {}
    for name in ("kafka", "klamm", "kafka"):
        if name == "kafka":
            broker = start_kafka(home=tmp_path, settings=SETTINGS)
        else:
            broker = start_klamm(home=tmp_path, config=tmp_path / KAFKA_CONFIG)
        try:
            with RawClient(broker.address) as client:
                side = Side(client, ids)
                if left is None:
                    side.prepare()
                    ids = side.ids
                found = eventually(partial(loaded, side, group, is_new=left is None))
                assert left is None or found == left
                # Nobody has to begin anew: the next heartbeat of each is taken as if nothing had happened.
                for walker in walkers:
                    if walker.epoch:
                        answer = side.heartbeat(
                            walker.owned,
                            group_id=group,
                            member_id=walker.name,
                            member_epoch=walker.epoch,
                            instance_id=INSTANCES.get(walker.name),
                        )
                        learn(walker, {"member_id": walker.name, "group_id": group}, answer)
                        assert answer["error"] == "NONE"
                epoch = side.described(group)["epochs"]
                # Nor is the group balanced anew: the hash of its topics is the one that the other computed.
                assert left is None or epoch[0] == left["epochs"][0]
                walk(side, chance, walkers, group)
                left = side.described(group)
        finally:
            broker.stop(keep=True)


def loaded(side: Side, group: str, *, is_new: bool) -> dict[str, Any]:
    found = side.described(group)
    assert found["error"] == ("GROUP_ID_NOT_FOUND" if is_new else "NONE")
    return found
