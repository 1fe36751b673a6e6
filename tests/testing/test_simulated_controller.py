"""The controller of a simulated cluster: who is deposed forgets, who is silent is fenced, and all know the same."""

import asyncio
from dataclasses import replace

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.client import Admin
from klamm.controller.decision import Decision
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from klamm.server.peers.channel import PeerChannel
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation


def active(cluster: SimulatedCluster) -> int:
    """The node that decides; of several, the one of the newest epoch."""
    deciding = [each for each in cluster.living if cluster.nodes[each].quorum.driver.is_active]
    return max(deciding, key=lambda each: cluster.nodes[each].quorum.epoch, default=0)


def image(cluster: SimulatedCluster, node_id: int) -> ClusterImage:
    return cluster.nodes[node_id].quorum.image


async def create(cluster: SimulatedCluster, *names: str, partitions: int = 1) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        for name in names:
            await admin.topics.create(name, partitions=partitions, replication_factor=3)


async def agreed(cluster: SimulatedCluster) -> None:
    """All that live have read the same."""
    await cluster.until(lambda: len({image(cluster, each).offset for each in cluster.living}) == 1)
    first, *others = (image(cluster, each) for each in cluster.living)
    # When a batch was written is known to whoever reads the log; it does not matter here.
    assert all(replace(each, timestamp=0) == replace(first, timestamp=0) for each in others)


def others(cluster: SimulatedCluster, node_id: int) -> list[str]:
    return [cluster.name_of(each) for each in cluster.ids if each != node_id]


@pytest.mark.parametrize("seed", range(3))
def test_a_deposed_controller_forgets_what_was_not_committed(seed: int) -> None:
    cluster = SimulatedCluster(Simulation(seed), nodes=3)
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="lost", num_partitions=1, replication_factor=3)]
    )

    async def work() -> None:
        await create(cluster, "kept")
        old = active(cluster)
        driver = cluster.nodes[old].quorum.driver
        cluster.simulation.network.cut([cluster.name_of(old)], others(cluster, old))
        asked = cluster._on(old, driver.ask(request))
        await cluster.until(lambda: "lost" in driver.image.topics_by_name)
        assert "lost" not in image(cluster, old).topics_by_name

        with pytest.raises(ApiError) as refused:
            await asked
        assert refused.value.code == ErrorCode.NOT_CONTROLLER
        await cluster.until(lambda: active(cluster) not in (0, old))
        await create_at(cluster, active(cluster), "later")
        cluster.simulation.network.heal()

        await cluster.until(lambda: "later" in image(cluster, old).topics_by_name)
        await agreed(cluster)
        assert list(image(cluster, old).topics_by_name) == ["kept", "later"]
        assert driver.image == image(cluster, old)

    cluster.run(work)


def test_nobody_is_told_what_a_decision_says_that_is_not_committed() -> None:
    """Also of decisions for which nobody waits: a leader that hears of one waits for metadata that never come."""
    cluster = SimulatedCluster(Simulation(1), nodes=3)

    async def work() -> None:
        await create(cluster, "t")
        old = active(cluster)
        other = next(each for each in cluster.ids if each != old)
        driver = cluster.nodes[old].quorum.driver
        cluster.simulation.network.cut([cluster.name_of(old)], others(cluster, old))

        async def ask() -> bool:
            driver.connection_lost(other)
            assert driver.image.brokers[other].is_fenced
            return await driver.submit(
                lambda controller, now: Decision(controller.image.brokers[other].is_fenced)
            )

        with pytest.raises(ApiError) as refused:
            await cluster._on(old, ask())
        assert refused.value.code == ErrorCode.NOT_CONTROLLER
        cluster.simulation.network.heal()
        await cluster.until(lambda: active(cluster) != 0)

    cluster.run(work)


async def create_at(cluster: SimulatedCluster, node_id: int, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=2)
    driver = cluster.nodes[node_id].quorum.driver
    await cluster._on(node_id, driver.ask(CreateTopicsRequest(topics=[topic])))


def test_a_broker_that_falls_silent_is_fenced_when_its_session_ends_and_comes_back() -> None:
    cluster = SimulatedCluster(Simulation(4), nodes=3)

    async def work() -> None:
        await create(cluster, "t", partitions=3)
        here = active(cluster)
        silent = next(each for each in cluster.ids if each != here)
        begun = asyncio.get_running_loop().time()
        cluster.simulation.network.cut([cluster.name_of(silent)], others(cluster, silent))

        await cluster.until(lambda: image(cluster, here).brokers[silent].is_fenced)

        assert 7 <= asyncio.get_running_loop().time() - begun <= 9.5
        partitions = image(cluster, here).topics_by_name["t"].partitions
        assert all(silent not in (each.leader, *each.isr) for each in partitions)
        assert all(each.leader > 0 for each in partitions)
        cluster.simulation.network.heal()
        await cluster.until(lambda: image(cluster, here).brokers[silent].is_active)
        await agreed(cluster)

    cluster.run(work)


@pytest.mark.parametrize("seed", range(3))
def test_a_new_controller_gives_everybody_a_session_and_fences_the_old_ones_broker(
    seed: int,
) -> None:
    cluster = SimulatedCluster(Simulation(seed), nodes=3)

    async def work() -> None:
        await create(cluster, "t", partitions=6)
        old = active(cluster)

        cluster.kill(old)
        await cluster.until(lambda: active(cluster) not in (0, old))
        new = active(cluster)
        await cluster.until(lambda: image(cluster, new).brokers[old].is_fenced)

        brokers = image(cluster, new).brokers
        assert sorted(each for each in brokers if brokers[each].is_active) == cluster.living
        partitions = image(cluster, new).topics_by_name["t"].partitions
        assert all(each.leader in cluster.living for each in partitions)
        await cluster.start(old)
        await cluster.until(lambda: image(cluster, new).brokers[old].is_active)
        await agreed(cluster)

    cluster.run(work)


def test_a_stopped_broker_hands_over_first() -> None:
    cluster = SimulatedCluster(Simulation(6), nodes=3)

    async def work() -> None:
        await create(cluster, "t", partitions=6)
        here = active(cluster)
        leaving = next(each for each in cluster.ids if each != here)

        await cluster.stop(leaving)

        await agreed(cluster)
        broker = image(cluster, here).brokers[leaving]
        assert (broker.is_fenced, broker.in_controlled_shutdown) == (True, True)
        partitions = image(cluster, here).topics_by_name["t"].partitions
        assert all(leaving not in (each.leader, *each.isr) for each in partitions)

    cluster.run(work)


@pytest.mark.parametrize("seed", range(3))
def test_the_broker_of_a_controller_that_fell_silent_is_fenced_within_a_session(seed: int) -> None:
    cluster = SimulatedCluster(Simulation(seed), nodes=3)

    async def work() -> None:
        await create(cluster, "t", partitions=6)
        old = active(cluster)
        begun = asyncio.get_running_loop().time()
        cluster.simulation.network.cut([cluster.name_of(old)], others(cluster, old))
        await cluster.until(lambda: active(cluster) not in (0, old))
        new = active(cluster)

        await cluster.until(lambda: image(cluster, new).brokers[old].is_fenced)

        assert asyncio.get_running_loop().time() - begun <= 9.5

    cluster.run(work)


def test_voters_of_the_settings_move_into_the_log_and_stay_there() -> None:
    cluster = SimulatedCluster(Simulation(1), nodes=3)
    wanted = [FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)]
    dry_run = UpdateFeaturesRequest(feature_updates=wanted, validate_only=True)
    raise_version = UpdateFeaturesRequest(feature_updates=wanted)

    def versions() -> list[int]:
        return [cluster.nodes[each].quorum.kraft_version for each in cluster.living]

    async def work() -> None:
        assert versions() == [0, 0, 0]
        follower = next(each for each in cluster.ids if each != active(cluster))
        world = cluster.simulation.machine("client").world
        channel = PeerChannel(world, cluster.name_of(follower), 9092, client_id="admin")
        assert (await channel.ask(dry_run)).error_code == 0
        assert versions() == [0, 0, 0]

        assert (await channel.ask(raise_version)).error_code == 0
        await cluster.until(lambda: versions() == [1, 1, 1])
        assert (await channel.ask(raise_version)).error_code == 0

        for each in cluster.ids:
            # Their settings still name the voters; the log holds.
            await cluster.restart(each)
        await agreed(cluster)
        assert versions() == [1, 1, 1]
        for each in cluster.ids:
            raft = cluster.nodes[each].quorum.raft.raft
            assert {voter.key for voter in raft.voters.voters} == {
                cluster.nodes[other].quorum.raft.raft.me for other in cluster.ids
            }
        await create(cluster, "after")

    cluster.run(work)
    assert not cluster.simulation.loop.complaints
