"""Groups: join (members come together), commit (offsets are stored), groups (many, with nothing to do but heartbeats)."""

import time
from collections.abc import Sequence
from functools import partial

from bench.connection import Connection
from bench.figures import Figure, Figures
from bench.load import Lane, Run, no_garbage_collection, run_lanes
from bench.membership import (
    GROUP,
    SAME_BYTES,
    Member,
    await_coordinator,
    form,
    leave,
    run_round,
)
from bench.metering import figures_of, metered
from bench.processes import KlammProcess, cpu_seconds, rss_bytes
from bench.requests import frame
from bench.target import KLAMM, Target, check, new_topic_name, until_it_works
from bench.workload import Workload
from klamm.base.ids import Uuid
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

MEMBERS = 100
GROUPS = 1_000
HEARTBEAT_SECONDS = 3.0

OFFSET_COMMIT, OFFSET_COMMIT_VERSION = 8, 10

_NO_LIMIT = 1 << 62
# As many as are joined in a round, and as many as wait out the first delay of a group at the same time.
_JOINS_IN_ROUND = 4
_SEEDS = 24
# Size, correlation id, tags, throttle time; one topic, one partition, and its error code.
_COMMIT_SAME_BYTES = 4 + 4 + 1 + 4 + 1 + 16 + 1 + 4 + 2


class JoinLoad:
    """99 newcomers join a group of one, which joins again, until each of the 100 has its assignment.

    A group that begins with them all would wait `group.initial.rebalance.delay.ms` first. The one member of each group
    has waited that out before the clock starts.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connections = [target.connect() for _ in range(MEMBERS - 1)]
        self._seeds: list[Member] = []
        self._seed_connections = [target.connect() for _ in range(_SEEDS)]
        await_coordinator(target, "bench", GROUP)

    def measure(self, seconds: float) -> Figures:
        groups = [self._next_group() for _ in range(_JOINS_IN_ROUND)]
        figures = metered(self._target, partial(self._run, groups))
        for group in groups:
            leave(group)
        return figures

    def _next_group(self) -> list[Member]:
        if not self._seeds:
            self._seeds = [Member(each, new_topic_name()) for each in self._seed_connections]
            form([[seed] for seed in self._seeds])
        seed = self._seeds.pop()
        group = [seed, *(Member(each, seed.group) for each in self._connections)]
        for member in group:
            member.expect(2)
        return group

    def _run(self, groups: Sequence[Sequence[Member]]) -> Run:
        latencies = []
        with no_garbage_collection():
            began = time.perf_counter_ns()
            for group in groups:
                start = time.perf_counter_ns()
                run_round([group], new=group[1:], generation=2)
                latencies.append(time.perf_counter_ns() - start)
            return Run((time.perf_counter_ns() - began) / 1e9, latencies)

    def close(self) -> None:
        for seed in self._seeds:
            leave([seed])
        for connection in (*self._connections, *self._seed_connections):
            connection.close()


class CommitLoad:
    """Members, each alone in its group, commit the offset of one partition again and again."""

    def __init__(self, target: Target, *, lanes: int) -> None:
        self._target = target
        self._topic = new_topic_name()
        (topic_id,) = target.create_topics([self._topic], partitions=1)
        await_coordinator(target, "bench", GROUP)
        self._members = [Member(target.connect(), new_topic_name()) for _ in range(lanes)]
        form([[member] for member in self._members])
        self._lanes = [
            Lane(member.connection, [_commit_frame(member, topic_id)], _COMMIT_SAME_BYTES)
            for member in self._members
        ]
        for lane in self._lanes:
            until_it_works(partial(_commit_once, lane.connection, lane.frames[0]))
            lane.learn()

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        return run_lanes(self._lanes, seconds, max_requests=_NO_LIMIT)

    def close(self) -> None:
        for member in self._members:
            leave([member])
            member.connection.close()
        self._target.delete_topics([self._topic])


class GroupsLoad:
    """Every member sends a heartbeat when it is its turn, as often as consumers do by default."""

    def __init__(self, target: Target) -> None:
        self._klamm = KlammProcess()
        self._target = Target(KLAMM, self._klamm.address, self._klamm.pid)
        self._connections: list[Connection] = []
        try:
            self._beats = self._form_groups()
            self._beat_once()
        except BaseException:
            self.close()
            raise

    def _form_groups(self) -> list[tuple[Connection, bytes]]:
        """Gives every member's connection and heartbeat."""
        await_coordinator(self._target, "bench", GROUP)
        groups = [
            [self._member(group), self._member(group)]
            for group in (new_topic_name() for _ in range(GROUPS))
        ]
        form(groups)
        return [
            (member.connection, member.heartbeat_frame(1)) for group in groups for member in group
        ]

    def measure(self, seconds: float) -> Figures:
        pid = self._klamm.pid
        before = cpu_seconds(pid)
        run = self._beat_once()
        spent = cpu_seconds(pid) - before
        return figures_of(run, cpu=spent) | {
            Figure.RSS_MB: rss_bytes(pid) / 1e6,
            Figure.IDLE_CPU_MS_PER_SECOND: spent / run.seconds * 1e3,
        }

    def _member(self, group: str) -> Member:
        connection = self._target.connect()
        self._connections.append(connection)
        return Member(connection, group)

    def _beat_once(self) -> Run:
        """One heartbeat of each, spread evenly over the interval."""
        now = time.perf_counter
        latencies = []
        began = now()
        for number, (connection, heartbeat) in enumerate(self._beats):
            due = began + number * HEARTBEAT_SECONDS / len(self._beats)
            time.sleep(max(0.0, due - now()))
            sent = time.perf_counter_ns()
            connection.send(heartbeat)
            connection.receive()
            latencies.append(time.perf_counter_ns() - sent)
            check(int.from_bytes(connection.answer[SAME_BYTES - 2 : SAME_BYTES]), "a heartbeat")
        time.sleep(max(0.0, began + HEARTBEAT_SECONDS - now()))
        return Run(now() - began, latencies)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._klamm.stop()


def _commit_frame(member: Member, topic_id: Uuid) -> bytes:
    partition = OffsetCommitRequestPartition(committed_offset=1_000)
    request = OffsetCommitRequest(
        group_id=member.group,
        generation_id_or_member_epoch=1,
        member_id=member.id,
        topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=[partition])],
    )
    return frame(OFFSET_COMMIT, OFFSET_COMMIT_VERSION, request)


def _commit_once(connection: Connection, encoded: bytes) -> None:
    answer = connection.call(encoded, OffsetCommitResponse, OFFSET_COMMIT_VERSION)
    check(answer.topics[0].partitions[0].error_code, "committing")


def _commit(lanes: int, target: Target) -> CommitLoad:
    return CommitLoad(target, lanes=lanes)


JOIN = Workload("join", f"{MEMBERS} members join a group, until all have assignments", JoinLoad)
COMMIT = Workload("commit", "1 connection, 1 partition's offset by a member", partial(_commit, 1))
COMMIT16 = Workload(
    "commit16", "16 connections, 1 partition's offset by a member", partial(_commit, 16)
)
MANY = Workload(
    "groups",
    f"{GROUPS:,} groups of 2 members, a heartbeat each every {HEARTBEAT_SECONDS:.0f} s",
    GroupsLoad,
    warms_up=False,
    is_own_broker=True,
    is_big=True,
)
