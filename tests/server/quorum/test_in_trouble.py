"""Nodes of a quorum that crash, lose power and are cut off, with all that is real about them but the machine."""

import pytest

from klamm.testing.world import Simulation
from server.quorum.hosts import SimulatedQuorum

_SMALL = {
    "metadata_log_max_record_bytes_between_snapshots": "3000",
    "metadata_max_retention_bytes": "4000",
    "controller_quorum_fetch_snapshot_max_bytes": "700",
    "controller_quorum_fetch_max_bytes": "600",
}


async def make_trouble(quorum: SimulatedQuorum, steps: int) -> None:
    chance = quorum.simulation.random("trouble")
    network = quorum.simulation.network
    for _ in range(steps):
        victim = chance.choice(list(quorum.ids))
        fault = chance.random()
        if victim not in quorum.hosts:
            if fault < 0.5:
                await quorum.start(victim)
        elif fault < 0.08:
            quorum.kill(victim)
        elif fault < 0.13:
            quorum.power_off(victim)
        elif fault < 0.20:
            others = [f"node{each}" for each in quorum.ids if each != victim]
            some = chance.sample(others, chance.randint(1, len(others)))
            network.cut([f"node{victim}"], some, both=chance.random() < 0.6)
        elif fault < 0.30:
            network.heal()
        elif fault < 0.35:
            network.reset_connections(f"node{victim}")
        for node_id in list(quorum.hosts):
            for _ in range(chance.randint(0, 10)):
                quorum.try_to_write(node_id)
        await quorum.passes(chance.choice((0.05, 0.5, 3.0)))


@pytest.mark.parametrize("seed", range(8))
def test_what_was_acknowledged_is_there_and_all_have_the_same(seed: int) -> None:
    quorum = SimulatedQuorum(Simulation(seed), voters=3, observers=1, **_SMALL)

    async def work() -> None:
        await quorum.start()
        await make_trouble(quorum, 80)
        quorum.simulation.network.heal()
        for node_id in quorum.ids:
            if node_id not in quorum.hosts:
                await quorum.start(node_id)
        await quorum.write(1)
        end = quorum.leader.raft.end_offset if quorum.leader is not None else 0
        await quorum.until(lambda: all(each.published >= end for each in quorum.hosts.values()))

    quorum.simulation.loop.run(work())

    assert not quorum.simulation.loop.complaints
    assert [host.failure for host in quorum.hosts.values() if host.failure] == []
    first, *others = [host.values for host in quorum.hosts.values()]
    assert all(each == first for each in others)
    assert len(quorum.acknowledged) > 100
    assert set(quorum.acknowledged) <= set(first)
