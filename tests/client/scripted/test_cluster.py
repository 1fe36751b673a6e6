"""Finding brokers, leaders and coordinators, against a broker that the test scripts."""

import ast
from pathlib import Path
from random import Random

import pytest

import klamm.client
from client.networks import ScriptedBroker
from client.scripted.jumping_loop import metadata, producing_broker
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import Environment, Producer
from klamm.client.backoff import Backoff
from klamm.client.cluster import Cluster, ClusterSettings, CoordinatorKind
from klamm.client.environment import Address
from klamm.client.errors import ConnectionLost, TimedOut
from klamm.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
)
from klamm.protocol.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

PARTITION = TopicPartition("topic", 0)


def cluster_of(broker: ScriptedBroker, **settings: int) -> Cluster:
    return Cluster(
        "a:1,b:2",
        ClusterSettings(retry_backoff=Backoff(1, 2), **settings),
        Environment(rng=Random(1), open=broker.open),
    )


def scripted(*answers: MetadataResponse) -> ScriptedBroker:
    """Gives these answers to Metadata one after the other, the last one for ever."""
    left = list(answers)
    return ScriptedBroker({MetadataRequest: lambda *_: left.pop(0) if len(left) > 1 else left[0]})


async def test_topic_is_asked_for_once_and_then_known() -> None:
    broker = scripted(metadata())
    cluster = cluster_of(broker)

    assert (await cluster.topic("topic")).topic_id == b"t" * 16
    assert await cluster.topic("topic") is cluster.view.topics["topic"]
    asked = [request for request, _ in broker.asked if isinstance(request, MetadataRequest)]
    assert len(asked) == 1


async def test_topic_that_is_still_being_made_is_asked_for_again() -> None:
    cluster = cluster_of(scripted(metadata(error=ErrorCode.LEADER_NOT_AVAILABLE), metadata()))

    assert (await cluster.topic("topic")).count == 1


async def test_topic_that_may_not_be_read_fails_at_once() -> None:
    cluster = cluster_of(scripted(metadata(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)))

    with pytest.raises(ApiError) as caught:
        await cluster.topic("topic")

    assert caught.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_partition_without_a_leader_is_looked_up_again() -> None:
    cluster = cluster_of(scripted(metadata(leader=-1), metadata()))
    await cluster.refresh(["topic"])

    assert (await cluster.leader(PARTITION))[0] == 1


async def test_brokers_of_the_beginning_are_asked_when_no_other_is_left() -> None:
    cluster = cluster_of(scripted(metadata()))
    await cluster.refresh(["topic"])
    opened: list[Address] = []

    async def refuse_known(protocol: object, address: Address) -> None:
        opened.append(address)
        raise ConnectionRefusedError

    cluster.close()
    lost = Cluster("a:1,b:2", None, Environment(rng=Random(1), open=refuse_known))
    lost.view = cluster.view
    with pytest.raises(ConnectionLost):
        await lost.refresh()

    assert opened == [Address("one", 1), Address("a", 1), Address("b", 2)]


async def test_batch_follows_the_leader_that_a_refusal_names() -> None:
    def refuse(request: object, _: int) -> ProduceResponse:
        assert isinstance(request, ProduceRequest)
        broker.answers[ProduceRequest] = accept
        part = PartitionProduceResponse(
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=4),
        )
        topic = TopicProduceResponse(
            topic_id=request.topic_data[0].topic_id, partition_responses=[part]
        )
        two = NodeEndpoint(node_id=2, host="two", port=2)
        return ProduceResponse(responses=[topic], node_endpoints=[two])

    broker = producing_broker()
    accept = broker.answers[ProduceRequest]
    broker.answers[ProduceRequest] = refuse
    environment = Environment(rng=Random(1), open=broker.open)

    async with Producer("a:1", environment=environment) as producer:
        await producer.send_and_wait("topic", b"")

    asked = [type(request) for request, _ in broker.asked]
    assert asked.count(MetadataRequest) == 1
    assert asked.count(ProduceRequest) == 2
    assert broker.opened[-1] == Address("two", 2)


async def test_coordinator_that_moved_is_looked_up_again() -> None:
    codes = [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE]
    broker = scripted(metadata())
    found = Coordinator(key="group", node_id=1, host="one", port=1)
    broker.answers[FindCoordinatorRequest] = lambda *_: FindCoordinatorResponse(
        coordinators=[found]
    )
    broker.answers[HeartbeatRequest] = lambda *_: HeartbeatResponse(error_code=codes.pop(0))
    cluster = cluster_of(broker)

    async def beat() -> None:
        answer = await cluster.ask_coordinator(
            CoordinatorKind.GROUP, "group", HeartbeatRequest(), HeartbeatResponse
        )
        cluster.judge(CoordinatorKind.GROUP, "group", answer.error_code)

    await cluster.persist(beat)

    lookups = [r for r, _ in broker.asked if isinstance(r, FindCoordinatorRequest)]
    assert (codes, len(lookups)) == ([], 2)


async def test_trying_again_ends_when_time_is_up() -> None:
    cluster = cluster_of(ScriptedBroker())

    async def fail() -> None:
        raise ConnectionLost("again")

    with pytest.raises((ConnectionLost, TimedOut)):
        await cluster.persist(fail, within_ms=20)


def test_delays_grow_to_a_limit_and_differ() -> None:
    rng = Random(1)
    backoff = Backoff(100, 1000)

    delays = [backoff.delay_ms(attempt, rng) for attempt in range(50)]

    assert all(80 * 2**n <= delay <= 120 * 2**n for n, delay in enumerate(delays[:4]))
    assert all(800 <= delay <= 1200 for delay in delays[4:])
    assert len(set(delays)) == 50


def test_time_and_chance_come_from_the_environment_alone() -> None:
    """Otherwise no simulation could hold the clock of a client."""
    home = Path(klamm.client.__file__).parent
    for path in home.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
                assert not names & {"time", "random", "secrets", "uuid", "socket"}, path
            elif isinstance(node, ast.ImportFrom) and node.module == "random":
                # As the type of an argument, and in one place as its default.
                assert {alias.name for alias in node.names} == {"Random"}, path
