"""Seeds of the simulation that every change must pass: no invariant broken, and the same seed does the same again."""

import os
import subprocess
import sys

import pytest

from klamm.testing.scenarios.one_node import Plan, run_one_node

TWICE = [range(first, first + 5) for first in range(0, 20, 5)]
ONCE = [range(first, first + 6) for first in range(1000, 1024, 6)]

DIGESTS = """
import sys
from klamm.testing.scenarios.one_node import run_one_node
for seed in map(int, sys.argv[1:]):
    result = run_one_node(seed)
    print(result.digest, len(result.violations))
"""


@pytest.mark.parametrize("seeds", TWICE, ids=str)
def test_a_seed_does_the_same_again_in_a_process_that_hashes_otherwise(seeds: range) -> None:
    """Two processes of their own: what other tests have left in this one is not the seed's affair."""
    command = [sys.executable, "-c", DIGESTS, *map(str, seeds)]
    # What begins with the order of a set ends somewhere else.
    runs = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": hashing}
        )
        for hashing in ("0", "7")
    ]
    first, again = (run.communicate(timeout=600)[0].decode().splitlines() for run in runs)

    assert [line.split()[1] for line in first] == ["0"] * len(seeds)
    assert again == first


@pytest.mark.parametrize("seeds", ONCE, ids=str)
def test_whatever_happens_to_one_node_the_invariants_hold(seeds: range) -> None:
    for seed in seeds:
        assert run_one_node(seed).violations == [], f"make sim NODES=1 FIRST={seed} SEEDS=1"


def test_seeds_differ() -> None:
    plans = {Plan.of(seed) for seed in range(30)}

    assert len(plans) > 20
    assert {plan.crash for plan in plans} == {"none", "kill", "power"}
