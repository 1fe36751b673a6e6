"""Brokers of a simulated cluster come, are missed, come back and go: registration, fencing, controlled shutdown, forwarding."""

import asyncio
from contextlib import suppress

import pytest

from klamm.base.errors import ApiError
from klamm.client import Admin
from klamm.client.admin.configs import ResourceKind
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.server.broker_lifecycle import BrokerState
from klamm.server.node import CannotStart, Node
from klamm.server.peers.channel import PeerChannel
from klamm.server.storage import Paths, format_directories
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation
from testing.one_node import time_passes


def a_cluster(*, seed: int = 1, **named: object) -> SimulatedCluster:
    return SimulatedCluster(Simulation(seed), **named)  # type: ignore[arg-type]


def controller_of(cluster: SimulatedCluster) -> int:
    (active,) = [each for each in cluster.living if cluster.nodes[each].quorum.driver.is_active]
    return active


def fenced(cluster: SimulatedCluster, broker_id: int) -> list[bool]:
    """As the living nodes see it."""
    return [
        cluster.nodes[each].quorum.image.brokers[broker_id].is_fenced
        for each in cluster.living
        if each != broker_id
    ]


async def create(cluster: SimulatedCluster, bootstrap: str, name: str) -> None:
    async with Admin(bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create(name, partitions=3, replication_factor=3)


def now(cluster: SimulatedCluster) -> float:
    return cluster.simulation.loop.time()


@pytest.mark.parametrize("seed", range(5))
def test_three_nodes_become_a_cluster_in_less_than_two_seconds(seed: int) -> None:
    cluster = a_cluster(seed=seed)

    async def work() -> None:
        assert now(cluster) < 2
        await cluster.until(
            lambda: all(not any(fenced(cluster, each)) for each in cluster.ids), seconds=1
        )
        await cluster.until(
            lambda: all(
                sorted(node.quorum.image.controllers) == [1, 2, 3]
                for node in cluster.nodes.values()
            ),
            seconds=1,
        )

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


@pytest.mark.parametrize("roles", ["xxx", "cccbbb", "xbb", "cbb"])
def test_a_topic_is_created_by_way_of_any_broker_and_is_known_there_at_once(roles: str) -> None:
    cluster = a_cluster(nodes=len(roles), roles=roles, settings={"default.replication.factor": 1})

    async def work() -> None:
        for broker in cluster.brokers:
            name = f"by-way-of-{broker}"
            async with Admin(
                f"{cluster.name_of(broker)}:9092", environment=cluster.environment
            ) as admin:
                await admin.topics.create(name, partitions=2, replication_factor=1)
            assert name in cluster.nodes[broker].broker.image.topics_by_name

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_a_broker_that_is_killed_is_fenced_at_once_and_serves_again_when_it_is_back() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, cluster.bootstrap, "topic")
        victim = next(each for each in cluster.ids if each != controller_of(cluster))
        killed_at = now(cluster)
        cluster.kill(victim)
        await cluster.until(lambda: all(fenced(cluster, victim)), seconds=2)
        assert now(cluster) - killed_at < 0.2
        assert cluster.leader_of("topic", 0) != victim

        started_at = now(cluster)
        await cluster.start(victim)
        assert now(cluster) - started_at < 1
        await cluster.until(lambda: not any(fenced(cluster, victim)), seconds=1)

    cluster.run(work)


@pytest.mark.parametrize("seed", range(3))
def test_a_broker_that_comes_back_answers_nobody_before_it_may_lead(seed: int) -> None:
    cluster = a_cluster(seed=seed)

    async def first_answer(victim: int) -> bool:
        """Of who asks it again and again: whether it was fenced then."""
        world = cluster.simulation.machine("client").world
        channel = PeerChannel(world, cluster.name_of(victim), 9092, client_id="impatient")
        while True:
            with suppress(ApiError):
                await channel.ask(MetadataRequest(topics=None), timeout_ms=50)
                return cluster.nodes[controller_of(cluster)].quorum.image.brokers[victim].is_fenced
            await time_passes(0.001)

    async def work() -> bool:
        victim = next(each for each in cluster.ids if each != controller_of(cluster))
        cluster.kill(victim)
        await cluster.until(lambda: all(fenced(cluster, victim)), seconds=2)
        answered = asyncio.create_task(first_answer(victim))
        await cluster.start(victim)
        return await answered

    assert cluster.run(work) is False


def test_after_the_active_controller_is_killed_another_one_decides_and_fences_its_broker() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, cluster.bootstrap, "before")
        victim = controller_of(cluster)
        killed_at = now(cluster)
        cluster.kill(victim)
        await cluster.until(lambda: all(fenced(cluster, victim)), seconds=4)
        assert now(cluster) - killed_at < 2
        bootstrap = ",".join(f"{cluster.name_of(each)}:9092" for each in cluster.living)
        async with Admin(bootstrap, environment=cluster.environment) as admin:
            await admin.topics.create("after", partitions=1, replication_factor=2)

        await cluster.start(victim)
        assert "after" in cluster.nodes[victim].broker.image.topics_by_name

    cluster.run(work)


def test_a_broker_that_is_cut_off_keeps_its_session_and_no_longer() -> None:
    cluster = a_cluster()

    async def work() -> None:
        victim = next(each for each in cluster.ids if each != controller_of(cluster))
        others = [cluster.name_of(each) for each in cluster.ids if each != victim]
        cluster.simulation.network.cut([cluster.name_of(victim)], others)

        def is_fenced() -> bool:
            return all(
                cluster.nodes[each].quorum.image.brokers[victim].is_fenced
                for each in cluster.ids
                if each != victim
            )

        cut_at = now(cluster)
        await cluster.until(is_fenced, seconds=15)
        assert 6 < now(cluster) - cut_at < 11
        cluster.simulation.network.heal()
        await cluster.until(lambda: not any(fenced(cluster, victim)), seconds=15)

    cluster.run(work)


def test_a_broker_that_stops_hands_over_first_and_is_gone_within_a_second() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, cluster.bootstrap, "topic")
        for leaving in list(cluster.ids):
            led_before = cluster.leader_of("topic", leaving - 1)
            assert led_before is not None
            began = now(cluster)
            await cluster.stop(leaving)
            assert now(cluster) - began < 1
            await cluster.until(lambda gone=leaving: all(fenced(cluster, gone)), seconds=1)
            for partition in range(3):
                assert cluster.leader_of("topic", partition) not in (leaving, None)
            await cluster.start(leaving)
            await cluster.until(lambda back=leaving: not any(fenced(cluster, back)), seconds=5)

    cluster.run(work)


def test_the_last_nodes_of_a_cluster_that_is_stopped_do_not_wait_for_ever() -> None:
    cluster = a_cluster()

    async def work() -> None:
        began = now(cluster)
        await asyncio.gather(*(cluster.stop(each) for each in cluster.ids))
        assert now(cluster) - began < 10
        await cluster.start_all()
        assert all(
            cluster.nodes[each].lifecycle.state is BrokerState.RUNNING for each in cluster.ids
        )

    cluster.run(work)


def test_a_broker_says_once_that_no_controller_can_be_reached_and_ends_after_its_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = a_cluster(
        nodes=2, roles="cb", settings={"initial.broker.registration.timeout.ms": 20_000}
    )

    async def work() -> None:
        cluster.kill(1)
        cluster.kill(2)
        began = now(cluster)
        with pytest.raises(CannotStart, match="no active controller of the quorum can be reached"):
            await cluster.start(2)
        assert 20 <= now(cluster) - began < 30
        assert len([each for each in caplog.records if "not registered yet" in each.message]) == 1

    cluster.run(work)


def test_a_number_that_is_used_twice_is_refused_in_one_sentence() -> None:
    cluster = a_cluster(
        nodes=3,
        roles="cbb",
        settings={"initial.broker.registration.timeout.ms": 20_000},
    )

    async def work() -> None:
        twin = SimulatedCluster(
            cluster.simulation,
            nodes=2,
            roles="cb",
            settings={"initial.broker.registration.timeout.ms": 20_000},
            of_node=lambda _: {
                "controller.quorum.voters": "1@node1:9093",
                "listeners": "PLAINTEXT://twin:9092",
            },
        )
        twin.name_of = lambda _: "twin"  # type: ignore[method-assign]
        with pytest.raises(
            Exception, match=r"a broker with node\.id 2 runs in the cluster already"
        ):
            await twin.start(2)
        assert not any(fenced(cluster, 2))

    cluster.run(work)


def test_a_broker_of_another_cluster_is_told_so_in_one_sentence_and_ends_soon() -> None:
    cluster = a_cluster(nodes=2, roles="cb")

    async def work() -> None:
        machine = cluster.machine(3)
        settings = cluster.settings_of(2)
        world = machine.boot()
        paths = Paths.of(settings)
        format_directories(
            world.disk,
            paths,
            cluster_id="another",
            node_id=2,
            chance=world.chance,
            now=world.clock.wall(),
        )
        assert machine.process is not None
        began = now(cluster)
        with pytest.raises(CannotStart, match="those of another cluster than another"):
            await cluster.simulation.loop.spawn(machine.process, Node(settings, world).start())
        assert now(cluster) - began < 5

    cluster.run(work)


def test_a_process_whose_number_another_one_has_taken_ends() -> None:
    cluster = a_cluster(nodes=2, roles="cb")
    ended: list[float] = []

    async def work() -> None:
        old = cluster.nodes[2]
        old.on_end = lambda: ended.append(now(cluster))
        cluster.simulation.network.cut(["node2"], ["node1"])
        await time_passes(20)
        assert cluster.nodes[1].quorum.image.brokers[2].is_fenced

        twin = SimulatedCluster(
            cluster.simulation,
            nodes=2,
            roles="cb",
            of_node=lambda _: {
                "controller.quorum.voters": "1@node1:9093",
                "listeners": "PLAINTEXT://twin:9092",
            },
        )
        twin.name_of = lambda _: "twin"  # type: ignore[method-assign]
        await twin.start(2)
        assert not ended
        cluster.simulation.network.heal()
        await cluster.until(lambda: bool(ended), seconds=10)
        assert old.has_failed
        await time_passes(30)
        assert not cluster.nodes[1].quorum.image.brokers[2].is_fenced

    cluster.run(work)


def test_what_lies_in_a_directory_that_has_failed_is_led_by_others_at_once() -> None:
    cluster = a_cluster(settings={"log.dirs": "/data/one,/data/two"})

    async def work() -> None:
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.topics.create("topic", partitions=12, replication_factor=3)
        victim = cluster.nodes[1].broker
        failed = victim.replicas.directories[1]
        in_it = {each.name[1] for each in victim.replicas.in_directory(failed)}
        led = [index for index in in_it if cluster.leader_of("topic", index) == 1]
        assert led
        victim.directory_failed(failed, OSError("the disk is broken"))
        began = now(cluster)

        def moved() -> bool:
            partitions = cluster.nodes[2].broker.image.topics_by_name["topic"].partitions
            return all(partitions[index].leader != 1 for index in in_it)

        await cluster.until(moved, seconds=1)
        assert now(cluster) - began < 0.2
        partitions = cluster.nodes[2].broker.image.topics_by_name["topic"].partitions
        assert any(each.leader == 1 for each in partitions)

    cluster.run(work)


def test_a_broker_whose_directories_are_cordoned_gets_no_new_partitions() -> None:
    cluster = a_cluster()

    async def work() -> None:
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.configs.set(ResourceKind.BROKER, "2", {"cordoned.log.dirs": "*"})
            await cluster.until(
                lambda: bool(cluster.nodes[1].broker.image.brokers[2].is_cordoned), seconds=1
            )
            await admin.topics.create("topic", partitions=9, replication_factor=2)

        partitions = cluster.nodes[1].broker.image.topics_by_name["topic"].partitions
        assert all(sorted(each.replicas) == [1, 3] for each in partitions)

    cluster.run(work)


def test_any_broker_describes_the_quorum_as_its_leader_knows_it() -> None:
    cluster = a_cluster(nodes=4, roles="xxxb")

    async def work() -> None:
        leader = controller_of(cluster)
        for broker in cluster.brokers:
            at = f"{cluster.name_of(broker)}:9092"
            async with Admin(at, environment=cluster.environment) as admin:
                quorum = await admin.quorum()
            assert quorum.leader_id == leader
            assert [len(quorum.voters), len(quorum.observers)] == [3, 1]

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_time_passes_and_nobody_is_fenced() -> None:
    cluster = a_cluster()

    async def work() -> None:
        epochs = [each.epoch for each in cluster.nodes[1].quorum.image.brokers.values()]
        await time_passes(120)
        brokers = cluster.nodes[1].quorum.image.brokers.values()
        assert [each.epoch for each in brokers] == epochs
        assert not any(each.is_fenced for each in brokers)

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


@pytest.mark.parametrize("days", [-400, 400])
@pytest.mark.parametrize("whose", ["controller", "other"])
def test_who_sets_a_clock_costs_no_session_and_no_leader(days: int, whose: str) -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, cluster.bootstrap, "topic")
        active = controller_of(cluster)
        leaders = [cluster.leader_of("topic", index) for index in range(3)]
        victim = active if whose == "controller" else next(i for i in cluster.ids if i != active)

        cluster.machine(victim).clock.wall_error_ms += days * 86_400_000
        await time_passes(60)

        assert controller_of(cluster) == active
        assert [cluster.leader_of("topic", index) for index in range(3)] == leaders
        assert not any(any(fenced(cluster, each)) for each in cluster.ids)

    cluster.run(work)
    assert not cluster.simulation.loop.complaints
