"""Seeds of simulated clusters that every change must pass: no invariant broken, and the same seed does the same again."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from klamm.testing.invariants import (
    ALWAYS,
    CATALOGUE,
    IF_NOTHING_IS_LOST,
    OF_A_CLUSTER,
    WATCHED,
    quorum,
    replicas,
)
from klamm.testing.scenarios.many_nodes import (
    ManyNodesScenario,
    Plan,
    inspection,
    liveness,
    run_many_nodes,
)
from klamm.testing.scenarios.many_nodes.faults import BY_NAME

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
    plans = [Plan.of(seed) for seed in range(200)]

    assert len(set(plans)) == 200
    assert {plan.nodes for plan in plans} == {3, 4, 5, 6}
    assert {fault for plan in plans for fault in plan.faults} == set(BY_NAME)


def test_a_plan_with_fewer_steps_does_the_same_up_to_there() -> None:
    plan = Plan.of(301)
    shorter = replace(plan, steps=plan.steps[:2])

    whole, part = (ManyNodesScenario(301, each).run().story for each in (plan, shorter))

    until = plan.steps[2].at
    assert [line for line in part if line[0] < until] == [line for line in whole if line[0] < until]


def test_each_invariant_has_a_function_of_its_own_and_all_are_looked_at() -> None:
    proving = {function for functions in CATALOGUE.values() for function in functions}
    elsewhere = {
        *(ALWAYS + IF_NOTHING_IS_LOST),
        *(quorum.metadata_logs_match, quorum.snapshots_are_what_was_committed),
        *(replicas.replicas_are_equal, replicas.followers_begin_where_leaders_do),
        *(liveness.everything_heals, liveness.everybody_can_write),
        *(liveness.every_partition_has_an_owner, liveness.offsets_can_be_read),
        inspection.coordinators_are_consistent,
    }

    assert all(CATALOGUE.values())
    assert proving == {*WATCHED, *OF_A_CLUSTER, *elsewhere}
