"""What people type when a broker is gone, comes, or is to go: the commands against clusters of real processes."""

import json
import threading
from typing import Any

import pytest

from cluster.conftest import MakeCluster
from cluster.processes import Ledger, RealCluster, until
from klamm.cli.app import main

pytestmark = pytest.mark.cluster


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """Runs `klamm cluster ...`; gives its exit code, its rows and what it said besides."""

    def run(cluster: RealCluster, *words: str) -> tuple[int, list[dict[str, Any]], str]:
        capsysbinary.readouterr()
        code = main(["cluster", *words, "-b", cluster.bootstrap])
        out, err = capsysbinary.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err.decode()

    return run


def test_health_tells_of_a_killed_broker_and_leaders_go_back_when_it_returns(
    cluster: RealCluster, run: Any
) -> None:
    cluster.create_topic("topic", placed=[[1, 2, 3]])
    cluster.await_isr("topic", 3)
    cluster.kill(1)
    cluster.await_isr("topic", 2)

    code, (sick,), _ = run(cluster, "health")

    assert code == 1
    assert sick["under_replicated"] == ["topic-0"]
    assert sick["without_leader"] == sick["under_min_isr"] == []
    assert [each["state"] for each in sick["brokers"]] == ["fenced", "alive", "alive"]

    cluster.begin(1)
    code, rows, _ = run(cluster, "health", "-w", "-i", "0.1")

    assert code == 0
    assert rows[-1]["healthy"] is True
    assert len(rows) > 1

    def elected() -> bool:
        run(cluster, "elect-leaders", "topic:0")
        return cluster.leader("topic") == 1

    until(elected)


def test_a_broker_is_decommissioned_by_command(make_cluster: MakeCluster, run: Any) -> None:
    cluster = make_cluster(roles="xbbb")
    cluster.create_topic("topic", placed=[[4, 2], [3, 4], [1, 2]])
    ledger = Ledger(cluster, "topic")
    ledger.write(100)

    def stop_when_empty() -> None:
        until(lambda: not holds_anything(cluster, 4))
        cluster.stop(4)

    # As whoever runs the machine does when the command says so.
    stopper = threading.Thread(target=stop_when_empty)
    stopper.start()
    code, rows, _ = run(cluster, "decommission", "4", "--yes")
    stopper.join()

    described = cluster.asks(lambda admin: admin.describe_cluster())
    assert (code, rows) == (0, [{"broker": 4, "moved": 2, "unregistered": True}])
    assert [node.node_id for node in described.nodes] == [1, 2, 3]
    assert described.fenced == ()
    ledger.check()


def test_partitions_are_moved_by_command(make_cluster: MakeCluster, run: Any) -> None:
    cluster = make_cluster(roles="xbb")
    cluster.create_topic("topic", placed=[[1, 2], [1, 2]])
    ledger = Ledger(cluster, "topic")
    ledger.write(100)

    code, rows, _ = run(cluster, "reassign", "topic", "--to", "2,3", "--wait")

    assert code == 0
    assert [row["replicas"] for row in rows] == [[2, 3], [3, 2]]
    until(lambda: [cluster.isr("topic", number) for number in (0, 1)] == [(2, 3), (2, 3)])
    ledger.check()


def holds_anything(cluster: RealCluster, broker: int) -> bool:
    topics = cluster.asks(lambda admin: admin.topics.list(internal=True))
    return any(broker in p.replicas for topic in topics for p in topic.partitions.values())
