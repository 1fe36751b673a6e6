"""Three nodes of a quorum that speak Kafka's messages over a simulated network."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from klamm.testing.world import Simulation
from server.quorum.hosts import SimulatedQuorum


def play(quorum: SimulatedQuorum, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    quorum.simulation.loop.run(work())
    assert not quorum.simulation.loop.complaints
    assert [host.failure for host in quorum.hosts.values() if host.failure] == []


@pytest.mark.parametrize("seed", range(3))
def test_they_elect_a_leader_and_all_have_what_is_committed(seed: int) -> None:
    quorum = SimulatedQuorum(Simulation(seed), voters=3, observers=1)

    async def work() -> None:
        await quorum.start()
        await quorum.write(10)
        # What is committed is known everywhere within a blink, not with the next long poll.
        assert await quorum.until(quorum.all_have_all) < 0.2

    play(quorum, work)


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_leader_is_followed_within_half_a_second(seed: int) -> None:
    quorum = SimulatedQuorum(Simulation(seed), voters=3, observers=1)

    async def work() -> None:
        await quorum.start()
        await quorum.write(3)
        first = quorum.leader
        assert first is not None
        dead = first.raft.me.id

        quorum.kill(dead)
        assert await quorum.until(lambda: quorum.leader is not None) < 0.5
        await quorum.write(3)
        await quorum.until(quorum.all_have_all)
        await quorum.start(dead)
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)

    play(quorum, work)


def test_a_leader_that_is_silent_is_replaced_and_what_it_wrote_alone_gives_way() -> None:
    quorum = SimulatedQuorum(Simulation(1), voters=3)

    async def work() -> None:
        await quorum.start()
        await quorum.write(3)
        old = quorum.leader
        assert old is not None
        others = [f"node{each}" for each in quorum.ids if each != old.raft.me.id]
        quorum.simulation.network.cut([f"node{old.raft.me.id}"], others)
        await quorum.until(lambda: quorum.leader is not None and quorum.leader is not old)
        await quorum.until(lambda: not old.raft.is_leader)
        await quorum.write(3)
        quorum.simulation.network.heal()
        await quorum.until(quorum.all_have_all)

    play(quorum, work)


def test_whoever_was_away_while_the_log_was_cleaned_catches_up_by_a_snapshot() -> None:
    quorum = SimulatedQuorum(
        Simulation(1),
        voters=3,
        observers=1,
        metadata_log_max_record_bytes_between_snapshots="2000",
        metadata_max_retention_bytes="3000",
        controller_quorum_fetch_snapshot_max_bytes="300",
    )

    async def work() -> None:
        await quorum.start()
        await quorum.write(3)
        leader = quorum.leader
        assert leader is not None
        away = next(each for each in (1, 2, 3) if each != leader.raft.me.id)
        quorum.kill(away)
        quorum.kill(4)
        for _ in range(10):
            await quorum.write(10)
        assert leader.store.start_offset > 4
        await quorum.start(away, 4)
        await quorum.until(quorum.all_have_all)
        assert quorum.hosts[away].store.start_offset > 4
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)
        # It stays so over a restart.
        quorum.kill(away)
        await quorum.start(away)
        await quorum.until(quorum.all_have_all)

    play(quorum, work)


@pytest.mark.parametrize("seed", range(5))
def test_a_quorum_has_a_leader_within_a_second_of_its_start(seed: int) -> None:
    """Also one that was stopped as a whole, whose leader of before is among those that start."""
    quorum = SimulatedQuorum(Simulation(seed), voters=3)

    async def work() -> None:
        await quorum.start()
        assert await quorum.until(lambda: quorum.leader is not None) < 1
        await quorum.write(1)
        for node_id in quorum.ids:
            quorum.kill(node_id)
        await quorum.start()
        assert await quorum.until(lambda: quorum.leader is not None) < 1
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)

    play(quorum, work)


def test_a_leader_whose_disk_fails_says_so_and_another_one_leads() -> None:
    quorum = SimulatedQuorum(Simulation(3), voters=3)

    async def work() -> None:
        await quorum.start()
        await quorum.write(1)
        broken = quorum.leader
        assert broken is not None
        broken_id = broken.raft.me.id
        quorum.machine(broken_id).disk.broken = "/data"
        quorum.try_to_write(broken_id)
        await quorum.until(lambda: broken.failure is not None)
        quorum.hosts.pop(broken_id)
        # It answers nobody any more, so it is as good as silent.
        await quorum.until(lambda: quorum.leader is not None, seconds=10)
        await quorum.write(1)

    quorum.simulation.loop.run(work())

    assert not quorum.simulation.loop.complaints
    first, second = [host.values for host in quorum.hosts.values()]
    assert first == second


def test_a_voter_that_finds_committed_records_missing_at_its_leader_stops_and_says_so() -> None:
    """As after somebody gave two of three nodes empty disks: what was committed is gone, and nobody may hide that."""
    quorum = SimulatedQuorum(Simulation(4), voters=3)

    async def work() -> None:
        await quorum.start()
        await quorum.write(5)
        await quorum.until(quorum.all_have_all)
        for node_id in (1, 2):
            quorum.kill(node_id)
            quorum.machine(node_id).disk.rmtree("/data")
        third = quorum.hosts[3]
        quorum.simulation.network.cut(["node3"], ["node1", "node2"])
        await quorum.start(1, 2)
        await quorum.until(lambda: quorum.leader not in (None, third))
        # So that the new epoch is above the old one.
        for _ in range(3):
            leader = quorum.leader
            assert leader is not None
            if leader.raft.epoch > third.raft.epoch:
                break
            node_id = leader.raft.me.id
            quorum.kill(node_id)
            await quorum.start(node_id)
            await quorum.until(lambda: quorum.leader not in (None, third))
        quorum.simulation.network.heal()
        await quorum.until(lambda: third.failure is not None)
        assert "committed" in str(third.failure)

    quorum.simulation.loop.run(work())
