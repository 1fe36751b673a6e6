"""Consumers that join, work, hang, lose answers, die and come back in any order, against what a group promises:

no two of them use a partition at the same time, every rebalance ends with everything shared out, and a broker that
reads the log knows what the one that wrote it knew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from coordinator.group.consumer.consumer_room import (
    GROUP,
    REBALANCE,
    SESSION,
    Consumer,
    Places,
    Room,
)
from coordinator.group.consumer.test_migration import OldConsumer
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import Member

TOPICS = {"t": 3, "u": 2}
SUBSCRIPTIONS = (("t",), ("u",), ("t", "u"))
# Two dynamic consumers, two static ones, and two that speak the classic protocol.
NAMES = ("ann", "bob", "static-1", "static-2", "old-1", "old-2")
# A classic consumer of this model says that its session is shorter.
OLD_SESSION = 20_000
FENCED = {
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_ID_NOT_FOUND,
}


def is_done(call: Callable[[], object], allowed: set[ErrorCode]) -> bool:
    """False where the broker refuses it with one of the errors that it may refuse it with."""
    try:
        call()
    except ApiError as e:
        if e.code not in allowed:
            raise
        return False
    return True


@dataclass
class Process:
    """One run of a consumer. It uses its partitions until it gives them up, or its session must have ended."""

    name: str
    client: Consumer | OldConsumer
    heard_at: int
    # Its last answer did not come: clients tell all about themselves then, and are told all.
    is_unsure: bool = False

    @property
    def is_old(self) -> bool:
        return isinstance(self.client, OldConsumer)

    @property
    def instance(self) -> str | None:
        return self.name if self.name.startswith("static") else None

    def uses(self, now: int) -> Places:
        is_lost = now >= self.heard_at + (OLD_SESSION if self.is_old else SESSION)
        return set() if is_lost else self.client.owned


@dataclass
class World:
    room: Room = field(
        default_factory=lambda: Room(
            TOPICS,
            group_consumer_migration_policy="upgrade",
            group_consumer_assignment_interval_ms=1_000,
        )
    )
    running: dict[str, Process] = field(default_factory=dict)
    # Killed: they say nothing any more, but may still work on what they have.
    zombies: list[Process] = field(default_factory=list)
    starts: int = 0

    # What happens.

    def start(self, name: str, topics: tuple[str, ...]) -> None:
        if name in self.running:
            return
        room, is_old = self.room, name.startswith("old")
        if is_old and not self.has_members:
            # It would make a classic group, which another test is about.
            return
        self.starts += 1
        client: Consumer | OldConsumer
        if is_old:
            client = OldConsumer(room, topics)
        else:
            more = {"instance": name} if name.startswith("static") else {}
            client = Consumer(room, f"{name}-{self.starts}", topics, more)
        process = Process(name, client, room.now)
        if self.enter(process):
            self.running[name] = process

    def kill(self, name: str) -> None:
        if name in self.running:
            self.zombies.append(self.running.pop(name))

    def beat(self, name: str, *, is_lost: bool = False) -> None:
        process = self.running.get(name)
        if process is None:
            return
        client = process.client
        before = (
            client.owned,
            client.epoch if isinstance(client, Consumer) else client.generation,
        )
        all_about_it = {}
        if process.is_unsure and isinstance(client, Consumer):
            all_about_it = {"topics": client.topics, "rebalance": REBALANCE}
        process.is_unsure = is_lost
        if not is_done(lambda: client.beat(**all_about_it), FENCED):
            self.fall_out(process)
            return
        process.heard_at = self.room.now
        if is_lost and isinstance(client, Consumer):
            # The broker did its part, and nobody heard of it.
            client.owned, client.epoch = before

    def leave(self, name: str, *, is_for_good: bool = True) -> None:
        process = self.running.pop(name, None)
        if process is None:
            return
        client = process.client
        client.owned = set()
        if isinstance(client, OldConsumer):
            client.leave()
            return
        epoch = -1 if is_for_good or process.instance is None else -2
        member_id = client.member_id
        is_done(lambda: self.room.leave(member_id, epoch, instance=process.instance), FENCED)

    def fall_out(self, process: Process) -> None:
        """It was thrown out: it drops what it has, and begins anew."""
        process.client.owned = set()
        if not self.enter(process):
            del self.running[process.name]

    def enter(self, process: Process) -> bool:
        client = process.client
        if isinstance(client, Consumer):
            # Whoever has the instance id must be gone first.
            if not is_done(client.join, {ErrorCode.UNRELEASED_INSTANCE_ID}):
                return False
        elif self.has_members:
            client.member_id, client.generation = "", -1
            client.enter()
        else:
            return False
        process.heard_at = self.room.now
        return True

    def resubscribe(self, name: str, topics: tuple[str, ...]) -> None:
        process = self.running.get(name)
        if process is not None and isinstance(process.client, Consumer):
            client = process.client
            client.topics = topics
            if not is_done(lambda: client.beat(topics=topics), FENCED):
                self.fall_out(process)
            process.heard_at = self.room.now

    def restart(self) -> None:
        before = self.facts()
        self.room.restart()
        assert self.facts() == before

    # What is known.

    @property
    def has_members(self) -> bool:
        group = self.room.shard.groups.get(GROUP)
        return isinstance(group, ConsumerGroup) and bool(group.members)

    def facts(self) -> tuple[object, ...]:
        group = self.room.shard.groups.get(GROUP)
        if group is None:
            return ()
        assert isinstance(group, ConsumerGroup)
        return (
            group.members,
            group.static_ids,
            group.epoch,
            group.metadata_hash,
            group.target,
            group.target_epoch,
            group.target_timestamp,
        )

    def check(self) -> None:
        used: dict[tuple[str, int], str] = {}
        for process in [*self.running.values(), *self.zombies]:
            for place in process.uses(self.room.now):
                other = used.setdefault(place, process.name)
                assert other == process.name, f"{other} and {process.name} both use {place}"

    def finish(self) -> None:
        """From here on everybody behaves, and those who are gone time out."""
        for _ in range(40):
            self.room.advance(3_000)
            for name in list(self.running):
                self.beat(name)
                self.check()
        if not self.running:
            return
        group = self.room.group
        assert group.state_name == "Stable"
        assert set(group.members) == {each.client.member_id for each in self.running.values()}
        topics = {t for each in self.running.values() for t in each.client.topics}
        expected = {(topic, n) for topic in topics for n in range(TOPICS[topic])}
        owned = [place for each in self.running.values() for place in each.client.owned]
        assert sorted(owned) == sorted(expected)
        for each in self.running.values():
            assert each.client.owned == self.room.owned(each.client.member_id)
            assert {topic for topic, _ in each.client.owned} <= set(each.client.topics)


name = st.sampled_from(NAMES)
topics = st.sampled_from(SUBSCRIPTIONS)
event = st.one_of(
    st.tuples(st.just("start"), name, topics),
    st.tuples(st.just("start"), name, topics),
    st.tuples(st.just("beat"), name),
    st.tuples(st.just("beat"), name),
    st.tuples(st.just("beat"), name),
    st.tuples(st.just("lose"), name),
    st.tuples(st.just("kill"), name),
    st.tuples(st.just("leave"), name),
    st.tuples(st.just("away"), name),
    st.tuples(st.just("resubscribe"), name, topics),
    st.tuples(st.just("advance"), st.sampled_from([500, 1_000, 5_000, 15_000, 46_000])),
    st.tuples(st.just("restart")),
)


def happen(world: World, what: tuple[object, ...]) -> None:
    kind, *rest = what
    match kind, rest:
        case "start", [str(who), tuple(wanted)]:
            world.start(who, wanted)
        case "beat", [str(who)]:
            world.beat(who)
        case "lose", [str(who)]:
            world.beat(who, is_lost=True)
        case "kill", [str(who)]:
            world.kill(who)
        case "leave", [str(who)]:
            world.leave(who)
        case "away", [str(who)]:
            world.leave(who, is_for_good=False)
        case "resubscribe", [str(who), tuple(wanted)]:
            world.resubscribe(who, wanted)
        case "advance", [int(ms)]:
            world.room.advance(ms)
        case _:
            world.restart()


@settings(max_examples=150)
@example(
    [
        ("start", "ann", ("t",)),
        ("start", "bob", ("t",)),
        ("leave", "ann"),
        ("advance", 1_000),
        ("lose", "bob"),
    ]
)
@given(st.lists(event, max_size=40))
def test_nobody_shares_a_partition_and_every_rebalance_ends(
    events: list[tuple[object, ...]],
) -> None:
    world = World()
    for what in events:
        happen(world, what)
        world.check()

    world.finish()
    world.restart()


def test_the_model_is_not_idle() -> None:
    """A run that all of it must show up in, so that the property above cannot hold for want of events."""
    world = World()
    for what in [
        ("start", "ann", ("t", "u")),
        ("start", "old-1", ("t",)),
        ("start", "static-1", ("t", "u")),
        ("advance", 1_000),
        ("beat", "ann"),
        ("lose", "ann"),
        ("beat", "old-1"),
        ("away", "static-1"),
        ("restart",),
        ("start", "static-1", ("u",)),
        ("kill", "old-1"),
    ]:
        happen(world, what)
        world.check()

    world.finish()

    members: dict[str, Member] = world.room.group.members
    assert len(members) == 2
    assert sorted(len(each.assigned) for each in members.values()) >= [1, 1]
