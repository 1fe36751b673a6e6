"""Nodes log in at each other: a cluster whose brokers and controllers ask everybody for a name, on virtual time."""

import pytest

from klamm.client import Admin
from klamm.server.node import CannotStart
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation
from testing.one_node import time_passes

NODE = 'PlainLoginModule required username="node" password="pear" user_node="pear";'


def a_cluster(**settings: object) -> SimulatedCluster:
    def of_node(node_id: int) -> dict[str, object]:
        name = f"node{node_id}"
        return {
            "listeners": f"PLAINTEXT://{name}:9092,INSIDE://{name}:9094,CONTROLLER://{name}:9093",
            **settings,
        }

    return SimulatedCluster(
        Simulation(3),
        settings={
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.inside.plain.sasl.jaas.config": NODE,
            "listener.name.controller.plain.sasl.jaas.config": NODE,
        },
        of_node=of_node,
    )


async def create_and_wait(cluster: SimulatedCluster, name: str) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create(name, partitions=3, replication_factor=3)
    await cluster.until(
        lambda: all(
            len(partition.isr) == 3
            for node in cluster.nodes.values()
            for partition in node.broker.image.topics_by_name[name].partitions
        ),
        seconds=5,
    )


def test_a_cluster_forms_behind_logins() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create_and_wait(cluster, "behind-logins")

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_sessions_between_nodes_are_renewed() -> None:
    cluster = a_cluster(**{"connections.max.reauth.ms": 10_000})

    async def work() -> None:
        await create_and_wait(cluster, "before")
        leaders = {each.quorum.leader_id for each in cluster.nodes.values()}
        await time_passes(60)
        await create_and_wait(cluster, "after")
        assert {each.quorum.leader_id for each in cluster.nodes.values()} == leaders

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_a_node_that_does_not_know_how_to_log_in_says_so() -> None:
    cluster = a_cluster(**{"sasl.mechanism.controller.protocol": "SCRAM-SHA-256"})

    async def work() -> None:
        raise AssertionError("it should not have started")

    with pytest.raises(CannotStart, match=r"listener\.name\.controller\.scram-sha-256\.sasl\.jaas"):
        cluster.run(work)
