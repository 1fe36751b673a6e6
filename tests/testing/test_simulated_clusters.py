"""Seeds of simulated clusters that every change must pass: no invariant broken, and the same seed does the same again."""

import os
import subprocess
import sys

import pytest

from klamm.testing.scenarios.many_nodes import Plan, run_many_nodes

pytestmark = pytest.mark.cluster

ONCE = [range(first, first + 4) for first in range(100, 116, 4)]
DIGESTS = """
import sys
from klamm.testing.scenarios.many_nodes import run_many_nodes
for seed in map(int, sys.argv[1:]):
    result = run_many_nodes(seed)
    print(result.digest, len(result.violations))
"""


@pytest.mark.parametrize("seeds", ONCE, ids=str)
def test_whatever_happens_to_a_cluster_the_invariants_hold(seeds: range) -> None:
    for seed in seeds:
        assert run_many_nodes(seed).violations == [], f"make sim FIRST={seed} SEEDS=1"


def test_a_seed_does_the_same_again_in_a_process_that_hashes_otherwise() -> None:
    command = [sys.executable, "-c", DIGESTS, "300", "301", "302"]
    runs = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": hashing}
        )
        for hashing in ("0", "7")
    ]

    first, again = (run.communicate(timeout=600)[0].decode().splitlines() for run in runs)

    assert [line.split()[1] for line in first] == ["0"] * 3
    assert again == first


def test_seeds_differ() -> None:
    plans = {Plan.of(seed) for seed in range(40)}

    assert len(plans) == 40
    assert {plan.nodes for plan in plans} == {3, 5, 6}
    assert len({fault for plan in plans for fault in plan.faults}) == 12
