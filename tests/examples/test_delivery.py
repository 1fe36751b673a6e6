"""What the consumers of examples/delivery lose and repeat when they are killed: exactly what they promise."""

import asyncio

import pytest
from examples.delivery.__main__ import table_of
from examples.delivery.broker import running_klamm
from examples.delivery.experiment import CLIENTS, Semantics, Tally, run_one
from examples.delivery.job import Point
from rich.console import Console

# Three at points of the loop, one at any moment.
KILLS = 4


def tally_of(semantics: Semantics, client: str) -> Tally:
    async def run() -> Tally:
        async with running_klamm() as bootstrap:
            return await run_one(bootstrap, semantics, client, kills=KILLS, seed=7)

    return asyncio.run(run())


@pytest.mark.parametrize("client", CLIENTS)
def test_commit_before_work_loses_what_was_in_hand_and_repeats_nothing(client: str) -> None:
    tally = tally_of(Semantics.AT_MOST_ONCE, client)

    assert tally.killed_at(Point.COMMITTED) == 3
    # One for each of these, and one more if the other kill met the same place.
    assert 3 <= tally.lost <= KILLS
    assert (tally.repeated, tally.hidden) == (0, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_work_before_commit_repeats_what_was_in_hand_and_loses_nothing(client: str) -> None:
    tally = tally_of(Semantics.AT_LEAST_ONCE, client)

    assert tally.killed_at(Point.PRODUCED) == 3
    assert 3 <= tally.repeated <= KILLS
    assert (tally.lost, tally.hidden) == (0, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_work_and_commit_in_one_transaction_lose_and_repeat_nothing(client: str) -> None:
    tally = tally_of(Semantics.EXACTLY_ONCE, client)

    assert [tally.killed_at(point) for point in Semantics.EXACTLY_ONCE.points] == [1, 1, 1]
    assert (tally.lost, tally.repeated) == (0, 0)
    # What the two killed inside their transactions had written is there, and nobody reads it.
    assert 2 <= tally.hidden <= 3


def test_table_shows_who_broke_a_promise() -> None:
    good = Tally(Semantics.AT_MOST_ONCE, "ann", 78, killed=(), lost=4, repeated=0, hidden=0)
    bad = Tally(Semantics.AT_LEAST_ONCE, "bob", 78, killed=(), lost=1, repeated=3, hidden=0)
    console = Console(width=100)

    with console.capture() as printed:
        console.print(table_of([good, bad]))

    rows = [line.split() for line in printed.get().splitlines()[-2:]]
    assert rows == [
        ["at", "most", "once", "ann", "78", "0", "4", "0", "0", "yes"],
        ["at", "least", "once", "bob", "78", "0", "1", "3", "0", "NO"],
    ]
