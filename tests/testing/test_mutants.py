"""The simulated cluster has teeth: it finds each bug that is planted in it, with a seed that is known to."""

import pytest

from klamm.testing.mutants import MUTANTS, planted
from klamm.testing.mutants.__main__ import first_violation
from klamm.testing.mutants.mutant import Patch
from klamm.testing.scenarios.many_nodes import ManyNodesScenario, Plan
from klamm.testing.scenarios.result import Result
from klamm.testing.scenarios.shrink import shrink, tell

# What a seed does changes with the code. Where one finds its bug no longer others are tried, and a cheap one may stand here.
FOUND_BY = {
    "acknowledges_before_the_isr_has_it": 3,
    "commits_what_one_follower_has": 0,
    "compacts_the_last_value": 0,
    "cuts_below_the_high_watermark": 20,
    "cuts_to_its_own_high_watermark": 23,
    "forgets_a_partition_of_a_transaction": 0,
    "forgets_its_vote": 1,
    "is_stable_one_too_far": 0,
    "lets_a_stale_replica_into_the_isr": 2,
    "loads_to_the_high_watermark": 2,
    "removes_two_voters_at_once": 5,
    "shows_what_is_not_committed": 0,
    "snapshots_lack_their_last_record": 13,
    "votes_before_the_sync": 1,
    "writes_a_marker_twice": 1,
}
MORE_SEEDS = 30


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_cluster_cannot_have_a_node_that(name: str) -> None:
    with planted(name):
        for seed in (FOUND_BY[name], *range(1_000, 1_000 + MORE_SEEDS)):
            if first_violation(seed) is not None:
                return

    pytest.fail(f"{1 + MORE_SEEDS} seeds did not see it: make sim-mutants")


def test_a_bug_is_gone_when_nobody_plants_it_any_more() -> None:
    def everything() -> list[object]:
        patch, found = Patch(), []
        keep = patch.set
        patch.set = lambda owner, name, value: (
            found.append(vars(owner)[name]) or keep(owner, name, value)
        )
        for each in MUTANTS.values():
            each.plant(patch)
            patch.undo()
        return found

    assert everything() == everything()


def test_a_failing_seed_becomes_the_shortest_story_that_still_fails() -> None:
    """Of a vote that is forgotten little matters but that a voter comes back."""
    plan = Plan.of(1)

    def run(tried: Plan) -> Result:
        return ManyNodesScenario(1, tried, is_hasty=True).run()

    with planted("forgets_its_vote"):
        shrunk = shrink(plan, run, most_runs=12)

    assert shrunk is not None
    assert len(shrunk.plan.steps) < len(plan.steps)
    assert shrunk.broken == "R1 D3 a_vote_stands"
    story = tell(plan, shrunk)
    assert " is killed\n" in story or " loses its power\n" in story
    assert story.endswith(shrunk.result.violations[-1])


def test_steps_and_clients_that_do_not_matter_are_left_out() -> None:
    plan = Plan.of(20)
    first, second = plan.steps[1].number, plan.steps[-2].number
    other = Result(20, plan, ["P1: another story"])

    def run(tried: Plan) -> Result:
        left = {step.number for step in tried.steps}
        if {first, second} <= left and "writer-1" in tried.actors:
            return Result(20, tried, ["P3: it is gone"])
        return other if first in left else Result(20, tried, [])

    shrunk = shrink(plan, run)

    assert shrunk is not None
    assert [step.number for step in shrunk.plan.steps] == [first, second]
    assert shrunk.plan.actors == ("writer-1",)


def test_a_seed_that_breaks_nothing_is_not_shrunk() -> None:
    assert shrink(Plan.of(22), lambda tried: Result(22, tried, [])) is None
