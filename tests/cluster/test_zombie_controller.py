"""An active controller that slept while another one was elected: it wakes with a lower epoch, and decides nothing."""

import asyncio

import pytest

from cluster.conftest import MakeCluster
from cluster.processes import Ledger, RealCluster, until
from klamm.base.errors import ErrorCode
from klamm.cli.cluster.local import HOST, LocalNode
from klamm.client.admin.cluster import QuorumDescription
from klamm.client.connection import connect
from klamm.client.environment import Address, Environment
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

pytestmark = pytest.mark.cluster


def test_a_controller_that_slept_decides_nothing_when_it_wakes(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(roles="cccb")
    before = quorum_of(cluster)
    zombie = cluster.local.node(before.leader_id)

    told = asyncio.run(ask_while_it_sleeps(cluster, zombie))

    after = quorum_of(cluster)
    topics = {topic.name for topic in cluster.asks(lambda admin: admin.topics.list())}
    assert told in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)
    assert after.epoch > before.epoch
    assert after.leader_id != zombie.id
    assert topics == {"meanwhile"}
    # It has become a follower of the others, with all that they decided.
    until(lambda: has_everything(cluster, zombie.id))
    ledger = Ledger(cluster, "meanwhile")
    ledger.write(10)
    ledger.check()


async def ask_while_it_sleeps(cluster: RealCluster, zombie: LocalNode) -> int:
    """Its kernel takes the request; it finds it when it wakes and believes that it still leads."""
    address = Address(HOST, zombie.port + 1000)
    connection = await connect(address, Environment(), client_id="asker", timeout_ms=10_000)
    try:
        cluster.pause(zombie.id)
        topic = CreatableTopic(name="ghost", num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)
        waiting = asyncio.create_task(
            connection.ask(request, CreateTopicsResponse, timeout_ms=120_000)
        )
        await asyncio.sleep(0)
        await asyncio.to_thread(let_another_one_decide, cluster, zombie.id)
        cluster.resume(zombie.id)
        return (await waiting).topics[0].error_code
    finally:
        connection.close()


def let_another_one_decide(cluster: RealCluster, zombie: int) -> None:
    until(lambda: quorum_of(cluster).leader_id != zombie, seconds=60)
    cluster.create_topic("meanwhile", replicas=1, min_insync_replicas=1)


def quorum_of(cluster: RealCluster) -> QuorumDescription:
    return cluster.asks(lambda admin: admin.quorum())


def has_everything(cluster: RealCluster, node: int) -> bool:
    found = quorum_of(cluster)
    ends = {voter.node_id: voter.end_offset for voter in found.voters}
    return ends[node] >= found.high_watermark > 0
