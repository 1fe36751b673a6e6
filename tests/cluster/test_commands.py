"""What people type when a broker is gone, comes, or is to go: the commands against clusters of real processes."""

import json
from typing import Any

import pytest

from cluster.processes import RealCluster, until
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
