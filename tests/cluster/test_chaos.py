"""Ten cycles of chaos on real processes: no anomaly, and the cluster recovers. `make chaos-cluster` does the same for longer."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from chaos.cluster.command import make_nodes, options_of
from chaos.cluster.cycles import Cycle, Cycles
from chaos.cluster.faults import possible

pytestmark = pytest.mark.cluster

CYCLES = 10


def test_no_anomaly_in_ten_cycles_of_faults(tmp_path: Path) -> None:
    told: list[Cycle] = []
    with ExitStack() as afterwards:
        nodes = make_nodes(options_of([]), tmp_path, afterwards)
        # One fault at a time: that is quick to recover from.
        cycles = Cycles(nodes, seed=16, faults=possible(nodes), most_at_once=1)
        nodes.start()
        is_good = cycles.run(CYCLES, told.append)

    findings = [str(finding) for cycle in told for finding in cycle.findings]
    assert is_good, "\n".join([*(f"{each.number}: {each.deeds}" for each in told), *findings])
    figures = cycles.figures
    assert figures.cycles == CYCLES
    # A run in which nothing happens proves nothing.
    assert figures.faults.total() >= CYCLES
    assert figures.acknowledged > 1000
    assert figures.transactions > 20
    assert figures.commits > 20
    assert figures.read > figures.acknowledged
