"""What the consumers of examples/delivery lose and repeat when they are killed: exactly what they promise."""

import asyncio
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from examples.delivery.__main__ import table_of  # noqa: E402
from examples.delivery.broker import running_klamm  # noqa: E402
from examples.delivery.experiment import CLIENTS, Semantics, Tally, run_all  # noqa: E402
from examples.delivery.job import Point  # noqa: E402

# Three at points of the loop, one at any moment.
KILLS = 4

Tallies = dict[tuple[Semantics, str], Tally]


@pytest.fixture(scope="module")
def tallies() -> Tallies:
    async def run() -> list[Tally]:
        async with running_klamm() as bootstrap:
            return await run_all(bootstrap, kills=KILLS, seed=7)

    return {(tally.semantics, tally.client): tally for tally in asyncio.run(run())}


@pytest.mark.parametrize("client", CLIENTS)
def test_commit_before_work_loses_what_was_in_hand_and_repeats_nothing(
    tallies: Tallies, client: str
) -> None:
    tally = tallies[Semantics.AT_MOST_ONCE, client]

    assert tally.killed_at(Point.COMMITTED) == 3
    # One for each of these, and one more if the other kill met the same place.
    assert 3 <= tally.lost <= KILLS
    assert (tally.repeated, tally.hidden) == (0, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_work_before_commit_repeats_what_was_in_hand_and_loses_nothing(
    tallies: Tallies, client: str
) -> None:
    tally = tallies[Semantics.AT_LEAST_ONCE, client]

    assert tally.killed_at(Point.PRODUCED) == 3
    assert 3 <= tally.repeated <= KILLS
    assert (tally.lost, tally.hidden) == (0, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_work_and_commit_in_one_transaction_lose_and_repeat_nothing(
    tallies: Tallies, client: str
) -> None:
    tally = tallies[Semantics.EXACTLY_ONCE, client]

    assert [tally.killed_at(point) for point in Semantics.EXACTLY_ONCE.points] == [1, 1, 1]
    assert (tally.lost, tally.repeated) == (0, 0)
    # What the two killed inside their transactions had written is there, and nobody reads it.
    assert 2 <= tally.hidden <= 3


def test_all_are_killed_as_often_as_planned_and_keep_their_promises(tallies: Tallies) -> None:
    assert {len(tally.killed) for tally in tallies.values()} == {KILLS}
    assert all(tally.is_as_promised for tally in tallies.values())


def test_table_has_a_row_for_each(tallies: Tallies) -> None:
    table = table_of(list(tallies.values()))

    assert table.row_count == len(Semantics) * len(CLIENTS)
