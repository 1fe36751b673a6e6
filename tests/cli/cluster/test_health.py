"""klamm cluster health: what is trouble and what is not, and how it is told."""

from dataclasses import replace

import pytest

from cli.commands import Klamm
from klamm.base.ids import TopicPartition
from klamm.cli.cluster.health import Health
from klamm.cli.cluster.progress import bar
from klamm.cli.cluster.state import ClusterState
from klamm.client.admin.cluster import QuorumDescription, QuorumReplica
from klamm.client.admin.partitions import Reassignment
from klamm.client.environment import Address
from klamm.client.metadata import Node, PartitionView

PLACE = TopicPartition("orders", 0)
NODES = tuple(Node(number, Address("host", 9090 + number), None) for number in (1, 2, 3))
WHOLE = PartitionView(leader=1, leader_epoch=4, replicas=(1, 2, 3), isr=(1, 2, 3))


def quorum(*, silent_ms: int = 0) -> QuorumDescription:
    voters = (QuorumReplica(1, 100, 50_000, 50_000), QuorumReplica(2, 93, 50_000 - silent_ms, 0))
    return QuorumDescription(1, 7, 90, voters, ())


HEALTHY = ClusterState(
    alive=NODES, fenced=(), partitions={PLACE: WHOLE}, min_isr={"orders": 2}, quorum=quorum()
)


def test_a_cluster_with_everybody_in_sync_is_healthy() -> None:
    assert Health(HEALTHY).problems == []
    assert Health(HEALTHY).is_healthy


@pytest.mark.parametrize(
    ("state", "problems"),
    [
        (replace(HEALTHY, fenced=NODES[2:]), ["broker 3 is fenced"]),
        (
            replace(HEALTHY, partitions={PLACE: WHOLE._replace(isr=(1, 2))}),
            ["under-replicated: orders-0"],
        ),
        (
            replace(HEALTHY, partitions={PLACE: WHOLE._replace(isr=(1,))}),
            ["under min ISR: orders-0", "under-replicated: orders-0"],
        ),
        (
            replace(HEALTHY, partitions={PLACE: WHOLE._replace(leader=None)}),
            ["without leader: orders-0"],
        ),
        (replace(HEALTHY, quorum=quorum(silent_ms=9_000)), ["controller 2 does not follow"]),
        (replace(HEALTHY, quorum=None, trouble="nobody answers"), ["nobody answers"]),
        (replace(HEALTHY, alive=()), ["no broker is alive"]),
    ],
)
def test_trouble_is_named(state: ClusterState, problems: list[str]) -> None:
    assert Health(state).problems == problems


def test_lag_of_a_voter_is_what_it_does_not_have() -> None:
    found = Health(HEALTHY)

    assert [found.lag(voter) for voter in quorum().voters] == [0, 7]


def test_a_replica_that_a_move_adds_is_not_missing() -> None:
    moving = PartitionView(leader=1, leader_epoch=4, replicas=(1, 2, 3), isr=(1, 2))
    move = Reassignment(replicas=(1, 2, 3), adding=(3,), removing=(1,))

    found = Health(replace(HEALTHY, partitions={PLACE: moving}, moves={PLACE: move}))

    assert found.problems == []


def test_a_topic_with_fewer_replicas_than_min_isr_is_not_in_trouble() -> None:
    single = PartitionView(leader=1, leader_epoch=0, replicas=(1,), isr=(1,))

    assert Health(replace(HEALTHY, partitions={PLACE: single})).problems == []


def test_many_partitions_in_trouble_are_counted() -> None:
    lost = WHOLE._replace(leader=None)
    partitions = {TopicPartition("orders", number): lost for number in range(5)}

    (problem,) = Health(replace(HEALTHY, partitions=partitions)).problems

    assert problem == "without leader: orders-0, orders-1, orders-2 and 2 more"


def test_a_bar_shows_how_much_is_done() -> None:
    assert bar(1, 2, "partitions") == f"[{'#' * 15}{'.' * 15}] 1 of 2 partitions"


@pytest.mark.parametrize("watch", [(), ("-w",)])
def test_a_healthy_broker_is_told_with_exit_code_0(
    ask: Klamm, topic: str, watch: tuple[str, ...]
) -> None:
    answer = ask("cluster", "health", *watch)

    (facts,) = answer.rows
    assert answer.code == 0
    assert facts["healthy"] is True
    assert facts["problems"] == []
    assert [(each["id"], each["state"]) for each in facts["brokers"]] == [(1, "alive")]
    assert [(each["id"], each["leader"], each["lag"]) for each in facts["voters"]] == [(1, True, 0)]
    assert facts["partitions"] >= 2


def test_table_shows_the_same(ask: Klamm, broker: str) -> None:
    table = ask("cluster", "health", "-o", "table").text

    assert "alive" in table
    assert broker in table
    assert "Problems" not in table
