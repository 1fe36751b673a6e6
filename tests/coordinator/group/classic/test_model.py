"""Clients that join, work, hang, die and come back in any order, against what a group promises:

a partition has one owner in a generation, who is no longer a member cannot commit, and every round ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.group.classic.room import REBALANCE, SESSION, Room
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.states import State

PARTITIONS = range(5)
# Two dynamic clients and two static ones.
NAMES = ("ann", "bob", "static-1", "static-2")
# What the longest round may take: all members may be away, and then their sessions end one by one.
LONGEST_ROUND = REBALANCE + SESSION
OUT_OF_GROUP = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
}


@dataclass
class Process:
    """A consumer that follows the protocol for as long as it runs. It hears an answer when it listens."""

    name: str
    member_id: str = ""
    generation: int = -1
    owned: frozenset[int] = frozenset()
    joins: int | None = None
    syncs: int | None = None
    metadata: bytes = b""
    # Got an assignment: from then on it is written that it is a member, and its predecessor is not.
    is_written: bool = False
    # Left, fenced or thrown out; what it says from then on must be refused.
    is_out: bool = False

    @property
    def instance(self) -> str | None:
        return self.name if self.name.startswith("static") else None

    @property
    def identity(self) -> str:
        return self.instance or self.member_id


@dataclass
class World:
    room: Room = field(default_factory=lambda: Room(group_initial_rebalance_delay_ms=1_000))
    running: dict[str, Process] = field(default_factory=dict)
    zombies: list[Process] = field(default_factory=list)
    owners: dict[tuple[int, int], str] = field(default_factory=dict)
    newest_assigned: int = 0

    # What processes do.

    def start(self, name: str) -> None:
        """A running process of that name hangs from now on; another takes its place."""
        if name in self.running:
            self.zombies.append(self.running.pop(name))
        self.running[name] = process = Process(name)
        self.join(process)

    def die(self, name: str) -> None:
        if name in self.running:
            self.zombies.append(self.running.pop(name))

    def join(self, process: Process) -> None:
        process.syncs = None
        process.owned = frozenset()
        process.joins = self.room.join(
            process.member_id,
            instance=process.instance,
            protocols={"range": process.metadata},
            client=process.name,
        )

    def resubscribe(self, name: str) -> None:
        process = self.running.get(name)
        if process and process.joins is None and process.member_id:
            process.metadata += b"!"
            self.join(process)

    def listen(self, name: str) -> None:
        process = self.running.get(name)
        if process is None:
            return
        if process.joins in self.room.replies:
            self.joined(process)
        elif process.syncs in self.room.replies:
            self.synced(process)

    def joined(self, process: Process) -> None:
        assert process.joins is not None
        error, answer = self.room.error(process.joins), self.room.answer(process.joins)
        process.joins = None
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            process.member_id = answer.member_id
            self.join(process)
        elif error is not ErrorCode.NONE:
            self.fall_out(process)
        else:
            process.member_id, process.generation = answer.member_id, answer.generation_id
            given = {}
            if answer.leader == process.member_id and not answer.skip_assignment:
                members = [member.member_id for member in answer.members]
                given = {
                    member: bytes(list(PARTITIONS)[position :: len(members)])
                    for position, member in enumerate(members)
                }
            process.syncs = self.room.sync(
                process.member_id, process.generation, given, instance=process.instance
            )

    def synced(self, process: Process) -> None:
        assert process.syncs is not None
        error, answer = self.room.error(process.syncs), self.room.answer(process.syncs)
        process.syncs = None
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join(process)
        elif error is not ErrorCode.NONE:
            self.fall_out(process)
        else:
            process.owned = frozenset(answer.assignment)
            process.is_written = True
            self.newest_assigned = max(self.newest_assigned, process.generation)
            for partition in process.owned:
                owner = self.owners.setdefault((process.generation, partition), process.identity)
                assert owner == process.identity

    def fall_out(self, process: Process) -> None:
        """Its member is gone: it begins anew, under a new id."""
        process.owned = frozenset()
        process.joins = process.syncs = None
        process.member_id = ""
        self.join(process)

    def beat(self, name: str) -> None:
        process = self.running.get(name)
        if process is None or process.joins is not None or process.syncs is not None:
            return
        error = self.room.heartbeat(
            process.member_id, process.generation, instance=process.instance
        )
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join(process)
        elif error is not ErrorCode.NONE:
            assert error in OUT_OF_GROUP
            self.fall_out(process)

    def leave(self, name: str) -> None:
        process = self.running.pop(name, None)
        if process and process.member_id:
            self.room.leave((process.member_id, process.instance))
            process.is_out = True
            self.zombies.append(process)

    def commit(self, name: str) -> None:
        """All of that name try, those that hang too."""
        tried = [process for process in self.zombies if process.name == name]
        for process in (*tried, *filter(None, [self.running.get(name)])):
            if process.generation >= 0 and process.member_id:
                self.try_commit(process)

    def try_commit(self, process: Process) -> None:
        try:
            self.room.group.check_commit(
                process.member_id,
                process.instance,
                process.generation,
                is_transactional=False,
                version=9,
            )
        except ApiError:
            return
        assert not process.is_out
        assert process.generation >= self.newest_assigned
        successor = self.running.get(process.name)
        is_replaced = process.instance and successor and successor is not process
        assert not (is_replaced and successor and successor.is_written)

    def work(self, sleeper: str) -> None:
        """All but one do what they should for a while."""
        for _ in range(6):
            for name in NAMES:
                if name != sleeper:
                    self.listen(name)
                    self.beat(name)
            self.move(500)

    def move(self, ms: int) -> None:
        self.room.advance(ms)

    def take_over(self) -> None:
        """The coordinator restarts, and the requests that waited are lost; clients send them again."""
        self.room.restart(group_initial_rebalance_delay_ms=1_000)
        for process in self.zombies:
            # That it left is not written before the next round is.
            process.is_out = False
        for process in self.running.values():
            if process.joins is not None and process.joins not in self.room.replies:
                self.join(process)
            if process.syncs is not None and process.syncs not in self.room.replies:
                self.join(process)

    # What must hold.

    def check_round(self) -> None:
        group = self.room.shard.groups.get("group")
        if group is not None and group.state_name.endswith("Rebalance"):
            began = self.room.group.state_since
            assert began is not None
            assert self.room.now - began <= LONGEST_ROUND

    def quiet_down(self) -> None:
        """Nothing more happens, and whoever runs does what it should."""
        for _ in range(4 * LONGEST_ROUND // SESSION):
            for _ in range(6):
                for name in NAMES:
                    self.listen(name)
                    self.beat(name)
            self.move(SESSION // 3)
            self.check_round()


_ABOUT_ONE = ("start", "die", "listen", "beat", "leave", "commit", "resubscribe")
STEPS = st.one_of(
    st.tuples(st.sampled_from(_ABOUT_ONE), st.sampled_from(NAMES)),
    st.tuples(st.just("work"), st.sampled_from(("", *NAMES))),
    st.tuples(st.just("commit"), st.sampled_from(NAMES)),
    st.tuples(st.just("move"), st.sampled_from((1, 1_000, SESSION // 2, SESSION, REBALANCE))),
    st.tuples(st.just("take_over")),
)


@settings(max_examples=150)
@given(st.lists(STEPS, min_size=10, max_size=50))
def test_a_group_keeps_its_promises_whatever_its_members_do(
    steps: list[tuple[str | int, ...]],
) -> None:
    world = World()
    for name in NAMES[1:]:
        world.start(name)
    world.work("")
    for step, *facts in steps:
        getattr(world, str(step))(*facts)
        world.check_round()

    world.quiet_down()

    owned = [partition for process in world.running.values() for partition in process.owned]
    assert sorted(owned) == (list(PARTITIONS) if world.running else [])
    assert world.room.waiting == set()
    if world.running:
        assert world.room.group.state is State.STABLE
        assert {process.generation for process in world.running.values()} == {
            world.room.group.generation
        }
        assert {process.member_id for process in world.running.values()} == set(
            world.room.group.members
        )
    else:
        assert all(group.is_empty for group in world.room.shard.groups.values())
